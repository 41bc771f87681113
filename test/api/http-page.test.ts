import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
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

const page = readFileSync(join(import.meta.dirname, '../../docs/http.md'), 'utf8');

test('docs/http.md names every route', async () => {
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse((await get(`${service.url}/openapi.json`)).body);
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  );
  expect(routes.length).toBeGreaterThan(20);
  // A page may name the routes of one place together: `POST /v1/…/pause`, `/resume`, or in a table of decisions.
  const isNamed = ({ method, path }: { method: string; path: string }) => {
    const [, parent = '', last = ''] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
    const together = page.includes(`\`${method} ${parent}/`) && new RegExp(`\`/?${last}\``).test(page);
    return page.includes(`\`${method} ${path}`) || together;
  };
  // The provider's route is on its own page.
  const missing = routes.filter((route) => route.path.startsWith('/v1/') && !isNamed(route));
  expect(missing).toEqual([{ method: 'POST', path: '/v1/notifications/{app}' }]);
});

test('the example of docs/http.md is a valid payout, and its response has the documented fields', async () => {
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
