import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SharedSettingsOf } from '../../src/client/shared-settings.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { eventually } from '../support/eventually.ts';
import { DATABASE, KillableStage } from '../support/killable-stage.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

/** One third scheduled, one third awaiting approval, one third under way. */
const COUNT = 30;
const ENVIRONMENT: Environment = {
  PAYMENTS_CALLS_PER_SECOND: '500',
  PAYOUTS_CONFIRMATION_WINDOW: '3s',
  // Payouts under way are polled throughout: often enough, and no more.
  PAYOUTS_POLL_FIRST: '2s',
  PAYOUTS_POLL_MAX: '10s',
};

let stage: KillableStage;
beforeAll(async () => {
  stage = await KillableStage.start();
});
afterAll(() => stage.stop());

/** As an operator does: first the workers, then Temporal with its database. */
async function stopAll(): Promise<void> {
  await stage.killWorker();
  await stage.temporal.stop();
}

function copyDatabase(from: string, to: string): void {
  for (const file of readdirSync(to)) if (file.startsWith(DATABASE)) rmSync(join(to, file));
  for (const file of readdirSync(from))
    if (file.startsWith(DATABASE)) cpSync(join(from, file), join(to, basename(file)));
}

/** Or a later phase: on a slow machine a payout may have continued by then, which makes it one under way. */
async function untilPhase(bodies: readonly PayoutRequest[], phase: string): Promise<void> {
  const reached: unknown[] = [phase, 'PROCESSING', 'DONE'];
  for (const body of bodies)
    await eventually(async () => {
      const { searchAttributes } = await stage.payouts.handle(body).describe();
      return reached.includes(searchAttributes['PayoutPhase']?.[0]) || undefined;
    });
}

/** A worker killed between its claim and its send leaves a payout in review. A person checks the order and decides. */
async function isPaid(body: PayoutRequest): Promise<boolean> {
  if (stage.ledgerOf(body).debits > 0) return true;
  const state = await stage.payouts.state(body).catch(() => undefined);
  if (state?.phase === 'NEEDS_REVIEW')
    await stage.payouts.resolve(body, { by: 'olga', created: false, then: 'retry' }).catch(() => undefined);
  return false;
}

test(`H53 Temporal is restored to a state before ${COUNT} payouts were paid: one POST each`, {
  timeout: 600_000,
}, async () => {
  await stage.startWorker(ENVIRONMENT);
  const bodies = Array.from({ length: COUNT }, (_, at) => {
    const kinds: Partial<PayoutRequest>[] = [
      { notBefore: new Date(Date.now() + 20_000).toISOString() },
      { approval: 'required' },
      { platform: 'sim:slow final=1h' },
    ];
    return payoutRequest(newPartnerOrderId(), { platform: 'sim:success', ...kinds[at % kinds.length] });
  });
  const [scheduled, awaiting, underWay] = [0, 1, 2].map((kind) => bodies.filter((_, at) => at % 3 === kind));
  for (const body of bodies) await stage.payouts.start(body);
  await untilPhase(underWay ?? [], 'PROCESSING');
  await untilPhase(awaiting ?? [], 'AWAITING_APPROVAL');
  await untilPhase(scheduled ?? [], 'SCHEDULED');
  await stopAll();
  const snapshot = mkdtempSync(join(stage.folder, 'snapshot-'));
  copyDatabase(stage.folder, snapshot);

  await stage.temporal.restart();
  await stage.startWorker(ENVIRONMENT);
  for (const body of awaiting ?? []) await stage.payouts.approve(body, { by: 'olga' });
  for (const body of bodies) await eventually(async () => (await isPaid(body)) || undefined);

  await stopAll();
  copyDatabase(snapshot, stage.folder);
  await stage.temporal.restart();
  const recovered = { by: 'olga', reason: 'a restore', recoveredAt: 'now' };
  expect(await new SharedSettingsOf(stage.client, 'test').change(recovered)).toHaveLength(1);
  await stage.startWorker(ENVIRONMENT);
  for (const body of underWay ?? [])
    stage.simulator.control.changeOrder(body.partnerOrderId, { status: 'SUCCESS' });
  // In the restored state, no approval is recorded. A payout that was confirmed by then needs none.
  for (const body of awaiting ?? []) await stage.payouts.approve(body, { by: 'olga' }).catch(() => undefined);
  const results = await Promise.all(bodies.map((body) => stage.payouts.result(body)));
  expect(results.map(({ outcome }) => outcome)).toEqual(bodies.map(() => 'SUCCESS'));
  const posts = bodies.map((body) => [stage.ledgerOf(body).creates.length, stage.ledgerOf(body).debits]);
  expect(posts).toEqual(bodies.map(() => [1, 1]));
});
