/** A gRPC front as that of Temporal Cloud: TLS, and an API key in each request. Forwards to a Temporal server. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createSecureServer, type ServerHttp2Session } from 'node:http2';
import { join } from 'node:path';
import { makeKeys } from '../../deploy/keys.mjs';
import { forwardCall } from './grpc-forward.ts';

const UNAUTHENTICATED = '16';

export interface ApiKeyFront {
  address: string;
  certificateFile: string;
  /** The keys that it accepts. */
  accepted: Set<string>;
  /** The keys of the requests since the last call, and their gRPC methods. */
  seen(): { key: string; path: string }[];
  close(): Promise<void>;
}

export async function startApiKeyFront(temporalAddress: string, folder: string): Promise<ApiKeyFront> {
  makeKeys(folder);
  const [key, cert] = ['node.key', 'node.pem'].map((file) => readFileSync(join(folder, 'temporal', file)));
  const certificateFile = join(folder, 'temporal', 'ca.pem');
  const accepted = new Set<string>();
  let requests: { key: string; path: string }[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const behind = connect(`http://${temporalAddress}`);
  const server = createSecureServer({ key, cert });
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    const given = String(headers.authorization ?? '').replace(/^Bearer /, '');
    requests.push({ key: given, path: headers[':path'] ?? '' });
    stream.on('error', () => stream.destroy());
    if (accepted.has(given)) forwardCall(stream, headers, behind);
    else
      stream.respond(
        { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': UNAUTHENTICATED },
        { endStream: true },
      );
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    ...{ address: `localhost:${address.port}`, certificateFile, accepted },
    seen() {
      const last = requests;
      requests = [];
      return last;
    },
    async close() {
      for (const session of sessions) session.destroy();
      behind.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
