/** A gRPC front as that of Temporal Cloud: TLS, and an API key in each request. Forwards to a Temporal server. */
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { join } from 'node:path';
import { makeKeys } from '../../deploy/keys.mjs';
import { startGrpcFront } from './grpc-front.ts';

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
  const [key, cert] = ['node.key', 'node.crt'].map((file) => readFileSync(join(folder, 'temporal', file)));
  const certificateFile = join(folder, 'temporal', 'ca.crt');
  const accepted = new Set<string>();
  let requests: { key: string; path: string }[] = [];
  const server = createSecureServer({ key, cert });
  const { port, close } = await startGrpcFront(
    server,
    'localhost',
    temporalAddress,
    ({ headers, forward, refuse }) => {
      const given = String(headers.authorization ?? '').replace(/^Bearer /, '');
      requests.push({ key: given, path: headers[':path'] ?? '' });
      if (accepted.has(given)) forward();
      else refuse({ 'grpc-status': UNAUTHENTICATED });
    },
  );
  return {
    ...{ address: `localhost:${port}`, certificateFile, accepted },
    seen() {
      const last = requests;
      requests = [];
      return last;
    },
    close,
  };
}
