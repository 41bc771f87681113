/** How the SDK's worker treats payloads that it cannot decrypt: the simulation has none of it. */
import { describe, expect, test } from 'vitest';
import { Payouts } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { grantUpdate, renewUpdate } from '../../src/contract/workflows.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { debitsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { NO_POLLS } from '../support/test-world.ts';

const [OLD, NEW] = [newKey('k1'), newKey('k2')];
const BEFORE = { PAYOUTS_ENCRYPTION_KEYS: OLD, PAYOUTS_TOKEN_KEYS: newKey('t1') };

const startWorld = (env: Environment = {}) => PayoutWorld.start({ env: { ...BEFORE, ...env } });
const tokenOf = (world: PayoutWorld, ...keys: string[]) =>
  world.speaking(keys.join(',')).workflow.getHandle(tokenWorkflowId('default'));

describe('H35 a key that is missing for a while', () => {
  test('loses no payout: all wait, and continue once the key is there', async ({ onTestFinished }) => {
    const world = await startWorld(NO_POLLS);
    onTestFinished(() => world.stop());
    const ref = await world.pay('success final=0s');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    await world.stopWorkers();
    await world.startWorkers({ PAYOUTS_ENCRYPTION_KEYS: NEW });
    await world.payouts.notify(ref, { receivedAt: new Date().toISOString() });
    // Workflow tasks have been tried and have failed; the workflow has not.
    await eventually(async () => {
      const { raw } = await world.payouts.handle(ref).describe();
      return (raw.pendingWorkflowTask?.attempt ?? 0) > 1 || undefined;
    });
    expect((await world.payouts.handle(ref).describe()).status.name).toBe('RUNNING');
    await world.stopWorkers();
    await world.startWorkers({ PAYOUTS_ENCRYPTION_KEYS: `${NEW},${OLD}` });
    const reader = new Payouts({ client: world.speaking(`${NEW},${OLD}`), environment: 'test' });
    expect((await reader.result(ref)).outcome).toBe('SUCCESS');
    expect(debitsOf(world, ref)).toBe(1);
  });
});

describe.concurrent('H35 a process with a key that no other process has', () => {
  const STRAY = newKey('stray');

  /** Requests for the token from a stray process make the renewal stuck, and it stays stuck when the process has ended. */
  async function stuckRenewal(): Promise<PayoutWorld> {
    const world = await startWorld();
    await renewed(world);
    const stray = world.speaking(STRAY).workflow.getHandle(tokenWorkflowId('default'));
    await eventually(async () => {
      // Temporal refuses an update when a workflow task with it has failed.
      await stray.executeUpdate(grantUpdate, { args: [{}] }).catch(() => undefined);
      const { raw } = await tokenOf(world, OLD).describe();
      return (raw.pendingWorkflowTask?.attempt ?? 0) > 2 || undefined;
    });
    return world;
  }

  /** A workflow task that fails refuses this update, too. */
  const renewed = (world: PayoutWorld) =>
    eventually(() =>
      tokenOf(world, OLD)
        .executeUpdate(renewUpdate)
        .catch(() => undefined),
    );

  test('a terminated renewal is started again, and gets a new token', async ({ onTestFinished }) => {
    const world = await stuckRenewal();
    onTestFinished(() => world.stop());
    await tokenOf(world, OLD).terminate('stuck');
    const ref = await world.pay('success final=0s');
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(await renewed(world)).toMatchObject({ needsAttention: false });
  });

  test('the renewal continues once the others have its key at the end', async ({ onTestFinished }) => {
    const world = await stuckRenewal();
    onTestFinished(() => world.stop());
    await world.stopWorkers();
    await world.startWorkers({ PAYOUTS_ENCRYPTION_KEYS: `${OLD},${STRAY}` });
    expect(await renewed(world)).toMatchObject({ needsAttention: false });
  });
});
