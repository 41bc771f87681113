/**
 * `GET /livez`: restart this worker if it fails. `GET /readyz`: this worker serves tasks; a rolling deployment waits for it.
 * Neither says anything about the provider, so that an outage there restarts no worker.
 */
import { createServer, type Server } from 'node:http';
import type { Client } from '@temporalio/client';
import type { Listen } from '../config/values.ts';
import type { Drain } from '../runtime/process.ts';
import { type Clock, repeat } from '../runtime/runtime.ts';

/** Shorter than the timeout of most probes. */
const TEMPORAL_TIMEOUT_MS = 900;

export interface Health {
  drain: Drain;
  clock: Clock;
  /** Whether all SDK workers run. */
  isRunning(): boolean;
  client: Client;
}

/** Serves both until the returned function is called. */
export async function serveHealth({ host, port }: Listen, health: Health): Promise<() => void> {
  const lag = new EventLoopLag(health.clock);
  const problems = {
    '/livez': async () => (lag.isStuck ? 'the event loop is late' : undefined),
    '/readyz': () => notReady(health),
  };
  const server = createServer(({ method, url = '' }, response) => {
    const problem = method === 'GET' && (url === '/livez' || url === '/readyz') && problems[url];
    if (!problem) {
      response.writeHead(404).end();
      return;
    }
    void problem().then((text) => {
      response.writeHead(text === undefined ? 200 : 503, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(text === undefined ? { status: 'ok' } : { status: 'failed', detail: text }),
      );
    });
  });
  await listening(server, host, port);
  return () => {
    lag.stop();
    server.close();
    server.closeAllConnections();
  };
}

async function notReady({ drain, isRunning, client, clock }: Health): Promise<string | undefined> {
  if (drain.hasBegun) return 'this worker is about to end';
  if (!isRunning()) return 'this worker is starting';
  const { namespace } = client.options;
  const describe = () => client.workflowService.describeNamespace({ namespace });
  return client.withDeadline(clock.wallMs() + TEMPORAL_TIMEOUT_MS, describe).then(
    () => undefined,
    () => 'Temporal does not respond, or the namespace cannot be used',
  );
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

const SAMPLE_EVERY_MS = 1_000;
const MAX_LATE_MS = 1_000;
/** A process that was frozen for a while is late once, and goes on. */
const SAMPLES = 10;

/** Whether the event loop of this process keeps up: a timer that is late by more than a second, again and again, says no. */
export class EventLoopLag {
  private readonly lateMs: number[] = [];
  private readonly stopSampling: () => void;

  constructor(clock: Clock) {
    let dueMs = clock.nowMs() + SAMPLE_EVERY_MS;
    this.stopSampling = repeat(clock, SAMPLE_EVERY_MS, () => {
      const now = clock.nowMs();
      this.lateMs.push(now - dueMs);
      if (this.lateMs.length > SAMPLES) this.lateMs.shift();
      dueMs = now + SAMPLE_EVERY_MS;
    });
  }

  /** Whether every one of the last samples was late. */
  get isStuck(): boolean {
    return this.lateMs.length === SAMPLES && this.lateMs.every((ms) => ms > MAX_LATE_MS);
  }

  stop(): void {
    this.stopSampling();
  }
}
