/** `node --import tsx run.ts PEER worker|front`: one process of a peer. */
import { createServer, type IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Front, Peer } from './peer.ts';
import { settings } from './settings.ts';

const PEERS: Record<string, () => Promise<Peer>> = {
  temporal: async () => (await import('./temporal/peer.ts')).temporal,
  dbos: async () => (await import('./dbos/peer.ts')).dbos,
  restate: async () => (await import('./restate/peer.ts')).restatePeer,
  bullmq: async () => (await import('./bullmq/peer.ts')).bullmq,
  table: async () => (await import('./table/peer.ts')).table,
};

const payout = z.object({ id: z.string(), scenario: z.string() });
const notification = z.object({ partner_order_id: z.string() });

// The first line on standard output says that the process is ready: libraries log there too.
const say = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

const [name = '', role] = process.argv.slice(2);
const peer = await PEERS[name]?.();
if (peer === undefined) throw new Error(`unknown peer ${name}`);
if (role === 'worker') await peer.work();
else await serve(await peer.front());
say(`${name} ${role} ready\n`);

async function serve(front: Front): Promise<void> {
  const server = createServer((request, response) => {
    answer(front, request).then(
      (body) => response.end(JSON.stringify(body)),
      (error: unknown) => {
        console.error(error);
        response.writeHead(500).end();
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(settings.PORT, '127.0.0.1', resolve));
}

async function answer(front: Front, request: IncomingMessage): Promise<unknown> {
  if (request.url === '/ended') return front.ended();
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  const body: unknown = JSON.parse(text);
  if (request.url === '/payouts') await front.start(payout.parse(body));
  else await front.notify(notification.parse(body).partner_order_id);
  return {};
}
