/** Bounds what a network can hold open, so that one without a key takes no connections from the others. */
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { membersOf, networkOf } from '../runtime/addresses.ts';
import type { Clock } from '../runtime/runtime.ts';
import { CallerGoneError } from '../service/waits.ts';
import { authenticatedCaller } from './authentication.ts';

/** Each costs a file descriptor and some memory. */
const MAX_CONNECTIONS = 5_000;
const MAX_PER_NETWORK = 500;
/** A connection whose last request had no key. Others stay open longer than the idle timeout of usual proxies. */
const KEYLESS_IDLE_MS = 5_000;

interface ConnectionsOptions {
  /** Addresses or networks. Each carries the requests of many others. */
  proxies: readonly string[];
  clock: Clock;
  /** For the body of a request without a key. */
  bodyTimeoutMs: number;
}

export function limitConnections(server: FastifyInstance, options: ConnectionsOptions): void {
  const { clock, bodyTimeoutMs } = options;
  const isProxy = membersOf(options.proxies);
  server.server.maxConnections = MAX_CONNECTIONS;
  const open = new Map<string, number>();
  server.server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    if (isProxy(remoteAddress)) return;
    const network = networkOf(remoteAddress);
    const count = (open.get(network) ?? 0) + 1;
    if (count > MAX_PER_NETWORK) {
      socket.destroy();
      return;
    }
    open.set(network, count);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
  const answering = new WeakSet<Socket>();
  server.addHook('onRequest', async (request, { raw: response }) => {
    const { raw } = request;
    // Otherwise the responses to a client that reads none would wait in memory.
    if (answering.has(raw.socket)) {
      raw.socket.destroy();
      throw new CallerGoneError('the caller has not waited for the response before');
    }
    answering.add(raw.socket);
    response.once('close', () => answering.delete(raw.socket));
    const cancel = clock.after(bodyTimeoutMs, () => {
      if (raw.complete || authenticatedCaller(request)) return;
      const error = Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      server.server.emit('clientError', error, raw.socket);
    });
    response.once('close', cancel);
  });
  server.addHook('onResponse', async (request) => {
    const { socket } = request.raw;
    // Until the next request, which sets the timeout again.
    if (!authenticatedCaller(request) && !isProxy(socket.remoteAddress ?? ''))
      socket.setTimeout(KEYLESS_IDLE_MS);
  });
}

/** Aborted with `CallerGoneError` when the caller disconnects. */
export function goneSignal({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
  const gone = new AbortController();
  const abort = () => gone.abort(new CallerGoneError('the caller has disconnected'));
  if (raw.destroyed) abort();
  else raw.once('close', abort);
  return gone.signal;
}
