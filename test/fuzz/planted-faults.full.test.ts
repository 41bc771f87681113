import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { demand, type Edge, type Verdict } from '../../fuzz/edge.ts';
import { apiEdge } from '../../fuzz/edges/api.ts';
import { deskEdge } from '../../fuzz/edges/desk.ts';
import { runEdge } from '../../fuzz/run-edge.ts';
import { isJsonObject } from '../../src/payments/exact-json.ts';
import { buildServer } from '../../src/starters/api/server.ts';

const edgeThat = (judge: (input: number) => Verdict | Promise<Verdict>): Edge<number> => ({
  name: 'planted',
  inputs: fc.nat(10_000),
  show: String,
  open: async () => ({ judge, settle: async () => undefined, close: async () => undefined }),
});

test('finds a route that throws for a certain input, shrinks the input and reports how to repeat it', async () => {
  const edge = apiEdge(async (client, config) => {
    const server = await buildServer(client, config);
    server.addHook('preHandler', async ({ body }) => {
      if (isJsonObject(body) && 'note' in body) throw new TypeError('planted');
    });
    return server;
  });
  const { found } = await runEdge(edge, { from: 1, inputs: 200 });
  const [{ seed, what, smallest } = { seed: 0, what: '', smallest: '' }] = found;
  expect(what).toBe('answered 500');
  expect(smallest).toMatch(
    /^all: POST \/v1\/payouts\/[\w-]+\/(approve|refuse) .*"content-type":"application\/json"/,
  );
  expect((await runEdge(edge, { from: seed, inputs: 1 })).found).toEqual([{ seed, what, smallest }]);
});

test('finds a page of the desk that does not escape the text of a visitor', async () => {
  const edge = deskEdge(async (client, config) => {
    const server = await buildServer(client, config);
    server.addHook('onSend', async (_request, _reply, page) =>
      typeof page === 'string' ? page.replaceAll('&lt;', '<') : page,
    );
    return server;
  });
  const { found } = await runEdge(edge, { from: 1, inputs: 300 });
  expect(found.map(({ what }) => what)).toContain('a page contains text of a visitor as markup');
});

describe('the runner', () => {
  const faultsOf = async (judge: (input: number) => Verdict | Promise<Verdict>) =>
    (await runEdge(edgeThat(judge), { from: 1, inputs: 400 }, { maxGrowth: 256 * 1024 })).found;

  test('reports nothing for a correct edge', async () => {
    expect(await faultsOf((input) => (input % 2 === 0 ? 'accepted' : 'refused'))).toEqual([]);
  });

  test('reports a violation with the smallest input that shows it', async () => {
    const found = await faultsOf((input) => {
      demand(input <= 100, 'is over 100');
      return 'accepted';
    });
    expect(found).toEqual([expect.objectContaining({ what: 'is over 100', smallest: '101' })]);
  });

  test('reports a thrown error', async () => {
    const [found] = await faultsOf((input) => {
      if (input > 5_000) throw new RangeError('planted');
      return 'accepted';
    });
    expect(found).toMatchObject({
      what: expect.stringMatching(/^it threw RangeError: planted/),
      smallest: '5001',
    });
  });

  test('reports a growing heap', async () => {
    const kept: string[][] = [];
    const found = await faultsOf((input) => {
      kept.push(Array.from({ length: 200 }, (_, at) => `${input} ${at}`));
      return 'accepted';
    });
    expect(found).toEqual([expect.objectContaining({ what: expect.stringMatching(/^the heap grew from/) })]);
  });
});
