/** The runtime of this process: the only module on the worker side that reads a real clock or real randomness. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { type Clock, type Runtime, sleep } from './runtime.ts';

/** For the entry points of a process. All other code receives its runtime as a parameter. */
export const PROCESS_RUNTIME: Runtime = {
  clock: {
    nowMs: () => performance.now(),
    wallMs: () => Date.now(),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  },
  random: {
    number: () => Math.random(),
    bytes: pooledBytes,
    uuid: () => randomUUID(),
  },
};

/** Every payload takes a nonce, and asking the system for each costs more than to encrypt it. */
const POOL_BYTES = 4_096;
let pool = Buffer.alloc(0);

function pooledBytes(length: number): Buffer {
  if (pool.length < length) pool = randomBytes(Math.max(POOL_BYTES, length));
  const bytes = pool.subarray(0, length);
  pool = pool.subarray(length);
  return bytes;
}

/** Load balancers need time to see that `/readyz` fails. Meanwhile, requests are still served. */
const NOTICE_SHARE = 0.25;

/** Whether a process is about to end. */
export class Drain {
  private begun = false;

  get hasBegun(): boolean {
    return this.begun;
  }

  begin(): void {
    this.begun = true;
  }

  /** From the beginning on, responses close their connection, so that callers connect to another process. */
  watch(server: FastifyInstance): void {
    closeUnusedConnections(server);
    server.addHook('onSend', async (_request, reply, payload) => {
      if (this.begun) reply.header('connection', 'close');
      return payload;
    });
  }
}

/** Node counts a connection without a request as busy: the end of the server would wait until its request times out. */
function closeUnusedConnections(server: FastifyInstance): void {
  const unused = new Set<Socket>();
  server.server.on('connection', (socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.server.on('request', ({ socket }) => unused.delete(socket));
  server.addHook('preClose', async () => {
    for (const socket of unused) if (socket.bytesRead === 0) socket.destroy();
  });
}

/** The options of a server that closes connections whose requests do not arrive in time, and idle ones when it ends. */
export function connectionLimits(requestTimeoutMs: number, headersTimeoutMs = requestTimeoutMs) {
  return {
    requestTimeout: requestTimeoutMs,
    // By default, Node checks for timed-out requests only every 30 s.
    http: {
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
      requestTimeout: requestTimeoutMs,
      headersTimeout: headersTimeoutMs,
    },
    forceCloseConnections: 'idle',
    // What arrives on an open connection while the server closes is served; the drain has a deadline.
    return503OnClosing: false,
  } as const;
}

export interface DrainSettings {
  clock: Clock;
  /** From the signal to the end of the process at the latest. */
  drainMs: number;
}

/**
 * Begins to drain at SIGTERM and SIGINT. A second signal, or the end of `drainMs` after `late`, ends the process immediately
 * with exit code 1. Call the returned function when the drain is over.
 */
export function onStopSignals(
  drain: Drain,
  { clock, drainMs }: DrainSettings,
  { stop, late }: { stop: (signal: 'SIGINT' | 'SIGTERM') => void; late: () => void },
): () => void {
  let cancelDeadline: () => void = () => undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (drain.hasBegun) process.exit(1);
      drain.begin();
      cancelDeadline = clock.after(drainMs, () => {
        late();
        process.exit(1);
      });
      stop(signal);
    });
  return () => cancelDeadline();
}

/**
 * Ends a server in order: readiness falls first, unless the signal comes from a terminal, requests in flight finish, then the
 * process ends with exit code 0.
 */
export function drainOnSignals(server: FastifyInstance, drain: Drain, settings: DrainSettings): void {
  const { clock, drainMs } = settings;
  onStopSignals(drain, settings, {
    stop: (signal) =>
      void sleep(clock, signal === 'SIGTERM' ? drainMs * NOTICE_SHARE : 0)
        .then(() => server.close())
        .then(() => process.exit()),
    late: () => server.log.error('requests did not finish within PAYOUTS_DRAIN'),
  });
}
