/** Daily limits of callers over HTTP, with several API servers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Allowances, DailyLimitError } from '../../src/client/allowances.ts';
import { allowanceWorkflowId } from '../../src/contract/ids.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, type HttpResponse, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const EXCEEDED = '/problems/daily-limit-exceeded';

let world: VirtualWorld;
let servers: [TestApiServer, TestApiServer];
let allowances: Allowances;
let callers = 0;

/** Entries of the file of both servers. */
const LIMITED = {
  sums: { dailyAmount: { CNY: '50.00' } },
  counts: { dailyCount: 2 },
  parallel: { dailyAmount: { CNY: '100.00' }, dailyCount: 40 },
  busy: { dailyCount: 250 },
  repeats: { dailyCount: 1 },
  conflicts: { dailyCount: 1 },
  batches: { dailyCount: 4 },
  lines: { dailyAmount: { CNY: '30.00' } },
  dollars: { dailyAmount: { USD: '1000.00' } },
};
type Limited = keyof typeof LIMITED | 'free';

beforeAll(async () => {
  world = await VirtualWorld.start();
  const entries = Object.entries(LIMITED).map(([name, limits]) => callerEntry(name, limits));
  const file = keysFile([...entries, callerEntry('free')]);
  const start = () => startApiServer(world.client, { PAYOUTS_API_KEYS_FILE: file });
  servers = [await start(), await start()];
  allowances = new Allowances(world.client, 'test', PROCESS_RUNTIME.clock);
});

afterAll(async () => {
  for (const server of servers) await server.close();
  await world.stop();
});

/** Waits for a day, so that nothing is paid while the test counts. */
const notBefore = new Date(Date.now() + 86_400_000).toISOString();
const body = (amount = '10.00', over: object = {}) =>
  payoutRequest(newPartnerOrderId(), {
    ...{ platform: 'sim:success', notBefore, instructedAmount: { currency: 'CNY', amount } },
    ...over,
  });

/** The servers take turns. */
async function start(caller: Limited, sent: object): Promise<HttpResponse> {
  callers += 1;
  const { url } = servers[callers % 2 === 0 ? 0 : 1];
  return post(`${url}/v1/payouts`, sent, as(caller));
}

const batch = (caller: Limited, sent: string | object, query = '', headers = {}) =>
  post(`${servers[0].url}/v1/payout-batches${query}`, sent, { ...as(caller), ...headers });

async function isStarted({ partnerOrderId }: { partnerOrderId: string }): Promise<boolean> {
  const { status } = await get(`${servers[0].url}/v1/payouts/${partnerOrderId}`, as('free'));
  expect([200, 404]).toContain(status);
  return status === 200;
}

const exceeded = (detail: string) => ({
  status: 403,
  headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
  body: { type: EXCEEDED, title: 'Daily limit exceeded', detail: expect.stringContaining(detail) },
});

describe('H176 daily limits of a caller', () => {
  test('refuse the sum per day with a stable type, the sums, and the time to the next day', async () => {
    for (const amount of ['20.00', '30.00']) expect((await start('sums', body(amount))).status).toBe(202);
    const refused = body('0.01');
    const answer = await start('sums', refused);
    expect(answer).toMatchObject(
      exceeded('this key allows at most 50.00 CNY per day (UTC): 50.00 CNY are reserved, and 0.01 CNY more'),
    );
    const seconds = Number(answer.headers['retry-after']);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(86_400);
    expect(await isStarted(refused)).toBe(false);
    // No day allows it.
    const tooLarge = await start('sums', body('50.01'));
    expect(tooLarge).toMatchObject({ status: 403, body: { type: EXCEEDED } });
    expect(tooLarge.headers).not.toHaveProperty('retry-after');
  });

  test('refuse the count per day, and do not depend on what became of the payouts', async () => {
    const [first, second] = [body(), body()];
    expect((await start('counts', first)).status).toBe(202);
    await post(`${servers[0].url}/v1/payouts/${first.partnerOrderId}/cancel`, '', as('free'));
    expect((await world.payouts.result(first)).outcome).toBe('NOT_CREATED');
    expect((await start('counts', second)).status).toBe(202);
    expect(await start('counts', body())).toMatchObject(exceeded('at most 2 payouts per day (UTC): 2 are'));
  });

  test('refuse a currency that is not listed', async () => {
    expect(await start('dollars', body())).toMatchObject({ status: 403, body: { type: EXCEEDED } });
  });

  test('hold exactly while two API servers start payouts in parallel', async () => {
    const bodies = Array.from({ length: 60 }, () => body('3.00'));
    const answers = await Promise.all(bodies.map((one) => start('parallel', one)));
    const statuses = answers.map(({ status }) => status);
    // 33 times 3.00 fit into 100.00.
    expect(statuses.filter((status) => status === 202)).toHaveLength(33);
    expect(statuses.filter((status) => status === 403)).toHaveLength(27);
    const started = await Promise.all(bodies.map(isStarted));
    expect(started).toEqual(statuses.map((status) => status === 202));
    expect(await allowances.state('parallel')).toMatchObject({ count: 33, sums: [{ amount: '99.00' }] });
  });

  test('count the same payout once, also if it is started ten times at once; other callers have limits of their own', async () => {
    const sent = body();
    const answers = await Promise.all(Array.from({ length: 10 }, () => start('repeats', sent)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 202, body: answers[0]?.body });
    expect((await allowances.state('repeats')).count).toBe(1);
    // The limit is exhausted: the same start gets the same answer, another one does not.
    expect(await start('repeats', sent)).toMatchObject({ status: 202, body: answers[0]?.body });
    expect((await start('repeats', body())).status).toBe(403);
    const ofOther = body();
    expect((await start('free', ofOther)).status).toBe(202);
    expect((await start('repeats', ofOther)).status).toBe(202);
  });

  test('are not used up by a conflict', async () => {
    const sent = body();
    expect((await start('free', sent)).status).toBe(202);
    const other = { ...sent, payerId: 'payer-2' };
    for (let times = 0; times < 2; times += 1) expect((await start('conflicts', other)).status).toBe(409);
    expect((await start('conflicts', body())).status).toBe(202);
  });

  test('allow all rows of a batch or none, and the same batch again when they are exhausted', async () => {
    const payouts = [body(), body(), body()];
    const sent = { batchId: newPartnerOrderId(), payouts };
    const first = await batch('batches', sent);
    expect(first.status).toBe(202);
    const tooMany = { batchId: newPartnerOrderId(), payouts: [body(), body()] };
    expect(await batch('batches', tooMany)).toMatchObject(
      exceeded('at most 4 payouts per day (UTC): 3 are reserved, and 2 more are requested'),
    );
    expect((await batch('batches', { ...tooMany, payouts: [body()] })).status).toBe(202);
    expect((await batch('batches', sent)).status).toBe(202);
    for (const row of tooMany.payouts) expect(await isStarted(row)).toBe(false);
    expect((await allowances.state('batches')).count).toBe(4);
  });

  test('hold for NDJSON, and a row that was started alone counts once', async () => {
    const alone = body();
    expect((await start('lines', alone)).status).toBe(202);
    const type = { 'content-type': 'application/x-ndjson' };
    const lines = (rows: object[]) => rows.map((row) => JSON.stringify(row)).join('\n');
    const send = (rows: object[]) => batch('lines', lines(rows), `?batchId=${newPartnerOrderId()}`, type);
    expect(await send([alone, body(), body('10.01')])).toMatchObject(exceeded('10.00 CNY are reserved'));
    expect((await send([alone, body(), body()])).status).toBe(202);
    expect(await allowances.state('lines')).toMatchObject({ count: 3, sums: [{ amount: '30.00' }] });
  });

  test('cost callers without them no request to Temporal', async () => {
    expect((await start('free', body())).status).toBe(202);
    const workflow = world.client.workflow.getHandle(allowanceWorkflowId('test', 'free'));
    await expect(workflow.describe()).rejects.toThrow();
  });
});

test('H178 daily limits hold while their workflow continues as new', async () => {
  // As in four processes: each sends its own updates.
  const processes = Array.from(
    { length: 4 },
    () => new Allowances(world.client, 'test', PROCESS_RUNTIME.clock),
  );
  const reserved = async (process: Allowances, number: number) => {
    const request = { ...body('1.00'), app: 'default', approval: 'none' as const };
    try {
      await process.reserve('busy', LIMITED.busy, [{ ...request, partnerOrderId: `load-${number}` }]);
      return true;
    } catch (error) {
      if (!(error instanceof DailyLimitError)) throw error;
      expect(error.message).toContain('at most 250 payouts per day');
      return false;
    }
  };
  const answers: boolean[] = [];
  for (let round = 0; round < 70; round += 1)
    answers.push(...(await Promise.all(processes.map((process, at) => reserved(process, 4 * round + at)))));
  expect(answers.filter((isReserved) => isReserved)).toHaveLength(250);
  expect(await allowances.state('busy')).toMatchObject({ count: 250, sums: [{ amount: '250.00' }] });
  const query = `WorkflowId = '${allowanceWorkflowId('test', 'busy')}' AND ExecutionStatus = 'ContinuedAsNew'`;
  await eventually(async () => (await world.client.workflow.count(query)).count > 0 || undefined);
});
