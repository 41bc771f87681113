import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { afterEach, describe, expect, inject, test } from 'vitest';
import { type PayoutRef, Payouts } from '../../src/client/payouts.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { renewUpdate } from '../../src/contract/workflows.ts';
import { dataConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { newKey } from '../support/keys.ts';
import { NO_POLLS } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const [OLD, NEW, TOKENS_OLD, TOKENS_NEW] = [newKey('k1'), newKey('k2'), newKey('t1'), newKey('t2')];
const BEFORE = { PAYOUTS_ENCRYPTION_KEYS: OLD, PAYOUTS_TOKEN_KEYS: TOKENS_OLD };
const AFTER = {
  PAYOUTS_ENCRYPTION_KEYS: `${NEW},${OLD}`,
  PAYOUTS_TOKEN_KEYS: `${TOKENS_NEW},${TOKENS_OLD}`,
};

let world: VirtualWorld;
afterEach(() => world.stop());

/** Another API server, with its own keys. */
const speaking = (...keys: string[]) =>
  new Payouts({ client: world.speaking(keys.join(',')), environment: 'test' });

async function open(scenario: string): Promise<PayoutRef> {
  const ref = await world.pay(scenario);
  await world.until(ref, ({ phase }) => phase === 'PROCESSING');
  return ref;
}

const notification = () => ({ receivedAt: new Date().toISOString() });
const token = (...keys: string[]) =>
  world.speaking(keys.join(',')).workflow.getHandle(tokenWorkflowId('default'));

/** The ids of the keys that encrypted the payloads of a history. */
function keysIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return found;
  for (const [name, part] of Object.entries(value))
    if (name === 'encryption-key-id') found.add(Buffer.from(part).toString());
    else keysIn(part, found);
  return found;
}

test('H50 keys rotate while payouts and renewals are open: none is lost, all histories replay', async () => {
  world = await VirtualWorld.start({ env: { ...NO_POLLS, ...BEFORE } });
  const payouts = await Promise.all([open('success final=0s'), open('failure final=0s')]);
  await token(OLD).executeUpdate(renewUpdate);
  await world.stopWorkers();
  await world.startWorkers(AFTER);
  // One payout is woken by a server with the new keys, the other by a server with the old keys only.
  const [first, second] = payouts;
  if (!first || !second) throw new Error('no payouts');
  await speaking(NEW, OLD).notify(first, notification());
  await speaking(OLD).notify(second, notification());
  const reader = speaking(NEW, OLD);
  expect((await reader.result(first)).outcome).toBe('SUCCESS');
  expect((await reader.result(second)).outcome).toBe('FAILED');
  const renewed = await token(NEW, OLD).executeUpdate(renewUpdate);
  expect(renewed).toMatchObject({ renewals: 3, needsAttention: false });

  const { payloads: ring } = encryptionKeys({ ...world.workerEnvironment, ...AFTER });
  for (const ref of payouts) {
    const history = await world.history(ref);
    expect([...keysIn(history)].sort()).toEqual(['k1', 'k2']);
    await Worker.runReplayHistory(
      {
        workflowBundle: { codePath: inject('workflowBundle') },
        dataConverter: dataConverter(ring, PROCESS_RUNTIME.random),
      },
      history,
      world.payouts.handle(ref).workflowId,
    );
  }
});

describe('H35 a token key that is missing for a while', () => {
  test('nothing is sent meanwhile, the renewal is flagged, and continues', async () => {
    world = await VirtualWorld.start({ env: BEFORE });
    const ref = await open('stuck');
    await world.stopWorkers();
    await world.startWorkers({ PAYOUTS_TOKEN_KEYS: TOKENS_NEW });
    const calls = world.simulator.control.calls().length;
    const flagged = await world.until(ref, ({ needsAttention }) => needsAttention);
    expect(flagged.reasons).toEqual([
      { code: 'PROVIDER_NOT_ANSWERING', message: expect.stringContaining('token: UnknownKeyError') },
    ]);
    expect(world.simulator.control.calls().length).toBe(calls);
    await world.stopWorkers();
    await world.startWorkers(AFTER);
    world.simulator.control.changeOrder(ref.partnerOrderId, { status: 'SUCCESS' });
    expect((await speaking(NEW, OLD).result(ref)).outcome).toBe('SUCCESS');
  });
});

describe('H35 a signal that no key decrypts', () => {
  test('is a hint without content: the payout queries the provider, and ends correctly', async () => {
    world = await VirtualWorld.start({ env: { ...NO_POLLS, ...BEFORE } });
    const ref = await open('success final=0s');
    await speaking(newKey('k1')).notify(ref, notification());
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  });
});

test('with keys, no part of a payout is readable in its history, failures included; unencrypted updates are accepted', async () => {
  world = await VirtualWorld.start({ env: { ...NO_POLLS, ...BEFORE } });
  const ref = await world.payWithFault({ kind: 'drop-after' }, 'success final=0s');
  await world.until(ref, ({ phase }) => phase === 'PROCESSING');
  await new Payouts({ client: world.speaking(undefined), environment: 'test' }).notify(ref, notification());
  expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
  const text = JSON.stringify(historyToJSON(await world.history(ref)));
  const decoded = [...text.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data = '']) =>
    Buffer.from(data, 'base64'),
  );
  const all = text + decoded.map((data) => data.toString('latin1')).join('\n');
  for (const secret of [
    '6222020000000000',
    'Zhang San',
    '110101199003070000',
    'no trustworthy answer',
    'create-payout.ts',
  ])
    expect(all).not.toContain(secret);
  // What an operator can read without a key.
  expect(all).toContain(ref.partnerOrderId);
});
