/**
 * A program: sends junk until its parent sends `stop`, and answers with what it sent. It is a process of its own, so that it takes
 * no time from the generator of the callers' requests. Arguments: the URL of the API server, and the key of a caller.
 */
import autocannon from 'autocannon';
import { z } from 'zod';

const CONNECTIONS = 30;

const flooded = z.object({ perSecond: z.number(), answers: z.record(z.string(), z.number()) });
export type Flooded = z.output<typeof flooded>;

/** The message with which the program ends. */
export function readFlooded(message: unknown): Flooded | undefined {
  return flooded.safeParse(message).data;
}

let sent = 0;

function junk(key: string): autocannon.Request[] {
  const json = { 'content-type': 'application/json' };
  const own = { ...json, authorization: `Bearer ${key}` };
  const post = (path: string, headers: Record<string, string>, body: () => string): autocannon.Request => ({
    setupRequest: (request) => ({ ...request, method: 'POST', path, headers, body: body() }),
  });
  return [
    { setupRequest: (request) => ({ ...request, method: 'GET', path: `/v1/payouts/junk-${sent++}` }) },
    post('/v1/payouts', { ...json, authorization: 'Bearer unknown' }, () => '{}'),
    post('/v1/payouts', own, () => JSON.stringify({ partnerOrderId: `junk-${sent++}` })),
    post('/v1/payouts', own, () => '{'.repeat(1_000)),
    post('/v1/notifications/default', json, () => JSON.stringify({ order_id: `junk-${sent++}` })),
    post('/v1/notifications/default', json, () => `{"order_id":"${'x'.repeat(16 * 1_024)}"}`),
  ];
}

function main([url = '', key = '']: readonly string[]): void {
  const begunMs = performance.now();
  const answers: Record<string, number> = {};
  const options: autocannon.Options = {
    ...{ url, connections: CONNECTIONS, sampleInt: 100 },
    // Ends before, unless its parent hangs.
    duration: 600,
    requests: junk(key),
  };
  const run = autocannon(options, () => process.exit());
  run.once('response', () => process.send?.('flooding'));
  run.on('response', (_client, status) => {
    answers[status] = (answers[status] ?? 0) + 1;
  });
  process.once('message', () => {
    const total = Object.values(answers).reduce((sum, count) => sum + count, 0);
    const perSecond = (total * 1_000) / (performance.now() - begunMs);
    process.send?.({ perSecond, answers }, () => process.exit());
  });
  process.once('disconnect', () => process.exit());
}

if (process.argv[1] === import.meta.filename) main(process.argv.slice(2));
