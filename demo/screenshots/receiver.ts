/** Two endpoints of events for the pictures: `shop` accepts them, and `books` is down. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Returns the file that names them to workers, too. */
export async function startReceiver(): Promise<{ server: Server; file: string }> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(request.url === '/shop' ? 204 : 503).end());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port');
  const endpoints = ['shop', 'books'].map((name) => ({
    name,
    application: 'default',
    url: `http://127.0.0.1:${address.port}/${name}`,
    secrets: [`whsec_${randomBytes(32).toString('base64')}`],
    allowPrivateAddress: true,
  }));
  const file = join(mkdtempSync(join(tmpdir(), 'durable-payouts-events-')), 'events.json');
  writeFileSync(file, JSON.stringify(endpoints), { mode: 0o600 });
  return { server, file };
}
