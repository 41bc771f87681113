/** Several workers, of which one has other encryption keys. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type CliRun, cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { WorkerProcesses } from '../support/workers.ts';

const answerSchema = z.object({
  checks: z.array(
    z.object({ check: z.string(), verdict: z.string(), detail: z.string(), advice: z.string().optional() }),
  ),
});

let world: PayoutWorld;
let workers: WorkerProcesses;
beforeAll(async () => {
  world = await PayoutWorld.start({ env: { PAYOUTS_ENCRYPTION_KEYS: newKey('k1') } });
  workers = new WorkerProcesses(world);
});
afterAll(async () => {
  await workers.end();
  await world.stop();
});

const doctor = () => cli(world.workerEnvironment, ['doctor', '--json']);

function keysOf(run: CliRun) {
  const found = answerSchema.parse(run.json()).checks.find(({ check }) => check === 'encryption keys');
  if (!found) throw new Error(`no check of the keys in ${run.stdout}`);
  return found;
}

test('doctor asks several workers, and names each with its keys', async () => {
  const { child } = await workers.start();
  const detail = await eventually(async () => {
    const keys = keysOf(await doctor());
    expect(keys.verdict).toBe('ok');
    return keys.detail.includes(`${child.pid}@`) ? keys.detail : undefined;
  });
  expect(detail).toMatch(/match; this machine: k1; workers? .*\d+@\S+: k1/);
});

test('H204 without the keys of the workers, a verb names the setting and sends nothing', async () => {
  const ended = await world.pay('success');
  await world.payouts.result(ended);
  const open = await world.pay('slow final=1h');
  await world.until(open, ({ phase }) => phase === 'PROCESSING');
  const verbs = [
    ['status', ended.partnerOrderId],
    ['result', ended.partnerOrderId],
    ['poll', ended.partnerOrderId],
    ['status', open.partnerOrderId],
    ['cancel', open.partnerOrderId, '--by', 'olga'],
    ['notify', open.partnerOrderId],
  ];
  for (const keys of ['', newKey('k2'), newKey('k1')]) {
    const environment = { ...world.workerEnvironment, PAYOUTS_ENCRYPTION_KEYS: keys };
    const runs = await Promise.all(verbs.map((verb) => cli(environment, verb)));
    for (const { code, stderr } of runs) {
      expect(code).toBe(1);
      expect(stderr).toBe(
        'this machine cannot decrypt what the workers encrypt: set PAYOUTS_ENCRYPTION_KEYS to their keys\n',
      );
    }
  }
  expect(
    (await world.history(open)).events?.some((one) => one.workflowExecutionSignaledEventAttributes),
  ).toBe(false);
  expect((await world.payouts.state(open)).phase).toBe('PROCESSING');
});

test('doctor names the worker that lacks the key, and not the others', async () => {
  const { child } = await workers.start({ PAYOUTS_ENCRYPTION_KEYS: newKey('k2') });
  // Temporal chooses the worker of each probe.
  const { detail, advice } = await eventually(async () => {
    const keys = keysOf(await doctor());
    const isNamed = keys.verdict === 'problem' && keys.detail.includes('what this machine encrypted');
    return isNamed ? keys : undefined;
  });
  expect(detail).toMatch(
    new RegExp(
      `worker ${child.pid}@\\S+ \\(it encrypts with k2\\) could not process what this machine encrypted \\(k1\\)`,
    ),
  );
  expect(advice).toMatch(
    new RegExp(`the log of worker ${child.pid}@\\S+ names the cause, usually a missing key`),
  );
  if (!detail.includes('no fault')) expect(advice).toContain('another run of doctor may ask another worker');
});
