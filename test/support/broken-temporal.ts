/**
 * A gRPC front that accepts connections, as Temporal's frontend does while its database is down: it forwards the calls that
 * it serves, and refuses or ignores all others.
 */
import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { forwardCall } from './grpc-forward.ts';

const UNAVAILABLE = '14';
/** What a client calls to connect. */
const CONNECT = /\/GetSystemInfo$/;

export interface BrokenTemporal {
  address: string;
  close(): Promise<void>;
}

/** `silent`: calls get no answer. `serves`: the gRPC methods that work. */
export async function startBrokenTemporal(
  temporalAddress: string,
  fault: 'unavailable' | 'silent',
  serves: RegExp = CONNECT,
): Promise<BrokenTemporal> {
  const sessions = new Set<ServerHttp2Session>();
  const behind = connect(`http://${temporalAddress}`);
  const server = createServer();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => stream.destroy());
    const path = headers[':path'] ?? '';
    if (CONNECT.test(path) || serves.test(path)) forwardCall(stream, headers, behind);
    else if (fault === 'unavailable') refuse(stream);
    else stream.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    address: `127.0.0.1:${address.port}`,
    async close() {
      for (const session of sessions) session.destroy();
      behind.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function refuse(stream: ServerHttp2Stream): void {
  const status = { 'grpc-status': UNAVAILABLE, 'grpc-message': 'no usable database connection found' };
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...status }, { endStream: true });
}
