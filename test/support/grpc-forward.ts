/** Forwards a gRPC call to the server behind a front. */
import {
  type ClientHttp2Session,
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';

export function forwardCall(
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
