import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let service: TestApiServer;

beforeAll(async () => {
  world = await VirtualWorld.start();
  service = await startApiServer(world.client);
});

afterAll(async () => {
  await service.close();
  await world.stop();
});

test('the example of docs/http.md is a valid payout, and its response has the documented fields', async () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/http.md'), 'utf8');
  const [, body = ''] = / -d '(\{[^']+\})'/.exec(page) ?? [];
  const [, shown = ''] = /```json\n(\{\n {2}"state"[\s\S]+?)```/.exec(page) ?? [];
  const started = await post(`${service.url}/v1/payouts`, body);
  expect(started).toMatchObject({ status: 202, body: { workflowId: 'payout:default:over-http-1' } });
  const ended = await eventually(async () => {
    const answer = await get(`${service.url}/v1/payouts/over-http-1`);
    return JSON.stringify(answer.body).includes('"result"') ? answer : undefined;
  });
  expect([shapeOf(ended.body)]).toMatchObject([shapeOf(JSON.parse(shown))]);
});

/** The names of all fields, without values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}
