/** The simulated Temporal on a real socket, in gRPC, for programs that run as processes of their own. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { buffer } from 'node:stream/consumers';
import { isGrpcServiceError } from '@temporalio/client';

export interface TemporalFront {
  address: string;
  close(): Promise<void>;
}

/** `path`: of the gRPC method. `withinMs`: the deadline that the program gives, if any. */
export type Serve = (path: string, bytes: Uint8Array, withinMs: number | undefined) => Promise<Uint8Array>;

/** A compression flag and a length come before each message. */
const PREFIX_BYTES = 5;
const INTERNAL = 13;
const UNITS_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

export async function startTemporalFront(serve: Serve): Promise<TemporalFront> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => stream.destroy());
    void respond(stream, headers, serve);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    address: `127.0.0.1:${address.port}`,
    async close() {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function respond(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, serve: Serve): Promise<void> {
  const sent = await buffer(stream);
  let trailers: Record<string, string> = { 'grpc-status': '0' };
  let message: Buffer | undefined;
  try {
    message = Buffer.from(
      await serve(headers[':path'] ?? '', sent.subarray(PREFIX_BYTES), timeoutMs(headers['grpc-timeout'])),
    );
  } catch (error) {
    const { code, details } = isGrpcServiceError(error) ? error : { code: INTERNAL, details: String(error) };
    trailers = { 'grpc-status': String(code), 'grpc-message': encodeURIComponent(details) };
  }
  if (stream.destroyed) return;
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(message && Buffer.concat([prefixOf(message), message]));
}

function prefixOf(message: Buffer): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return prefix;
}

function timeoutMs(header: string | string[] | undefined): number | undefined {
  const [, amount, unit] = /^(\d+)([HMSmun])$/.exec(String(header ?? '')) ?? [];
  return amount === undefined ? undefined : Number(amount) * (UNITS_MS[unit ?? ''] ?? 1);
}
