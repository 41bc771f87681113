/** TLS in front of a local server, with a certificate that processes trust through `NODE_EXTRA_CA_CERTS`. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createServer, type TLSSocket } from 'node:tls';

export interface TlsFront {
  url: string;
  certificateFile: string;
  certificate: string;
  close(): Promise<void>;
}

/** `target` is an http URL. Key and certificate are written into `folder` by OpenSSL. */
export async function startTlsFront(target: string, folder: string): Promise<TlsFront> {
  const [keyFile, certificateFile] = [join(folder, 'tls.key'), join(folder, 'tls.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', keyFile, '-out', certificateFile];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...files],
    {
      stdio: 'ignore',
    },
  );
  const certificate = readFileSync(certificateFile, 'utf8');
  const { hostname, port } = new URL(target);
  const sockets = new Set<TLSSocket>();
  const server = createServer({ key: readFileSync(keyFile), cert: certificate }, (socket) => {
    const behind = connect(Number(port), hostname);
    sockets.add(socket);
    void pipeline(socket, behind, socket)
      .catch(() => undefined)
      .finally(() => sockets.delete(socket));
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    ...{ url: `https://localhost:${address.port}`, certificateFile, certificate },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
