/** A gRPC server in front of a Temporal server: the test decides which calls it forwards. */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  constants,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';

export interface GrpcFront {
  port: number;
  close(): Promise<void>;
}

export interface GrpcCall {
  stream: ServerHttp2Stream;
  headers: IncomingHttpHeaders;
  forward(): void;
  /** Ends the call with these headers. */
  refuse(status: Record<string, string>): void;
}

/** Listens on a free port of `host`. */
export async function startGrpcFront(
  server: Http2Server | Http2SecureServer,
  host: string,
  temporalAddress: string,
  onCall: (call: GrpcCall) => void,
): Promise<GrpcFront> {
  const sessions = new Set<ServerHttp2Session>();
  const behind = connect(`http://${temporalAddress}`);
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => stream.destroy());
    onCall({
      ...{ stream, headers },
      forward: () => forwardCall(stream, headers, behind),
      refuse: (status) =>
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', ...status },
          { endStream: true },
        ),
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    async close() {
      for (const session of sessions) session.destroy();
      behind.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function forwardCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  behind: ClientHttp2Session,
): void {
  const { authorization: _, ':authority': __, ':scheme': ___, ...others } = headers;
  const onward = behind.request(others);
  stream.on('close', () => onward.close(constants.NGHTTP2_CANCEL));
  onward.on('error', () => stream.destroy());
  onward.once('response', (answer) => {
    if (stream.destroyed) return;
    let trailers: IncomingHttpHeaders = {};
    onward.once('trailers', (received) => {
      trailers = received;
    });
    stream.respond(answer, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers(withoutPseudo(trailers)));
    onward.pipe(stream);
  });
  stream.pipe(onward);
}

function withoutPseudo(headers: IncomingHttpHeaders) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':')));
}
