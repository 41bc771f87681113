import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { post } from '../support/http.ts';
import { createsOf } from '../support/ledger.ts';
import { ApprovalStage } from './approval-stage.ts';

let stage: ApprovalStage;
const run = (...args: string[]) => cli(stage.world.workerEnvironment, args);
const ref = (partnerOrderId: string) => ({ partnerOrderId });

beforeAll(async () => {
  stage = await ApprovalStage.start();
});
afterAll(() => stage.stop());

describe('a payout that requires approval', () => {
  test('waits, shows its quote and when lock and approval expire, and continues once approved', async () => {
    const id = await stage.started();
    const { quote, lockExpiresAt = '', approvalExpiresAt = '', lastAskedAt = '' } = await stage.waits(id);
    expect(quote?.target).toEqual({ currency: 'CNY', amount: '100.00' });
    expect(Date.parse(lockExpiresAt)).toBeGreaterThan(Date.parse(lastAskedAt));
    expect(Date.parse(approvalExpiresAt)).toBeGreaterThan(Date.parse(lockExpiresAt));
    const status = await run('status', id);
    expect(status.stdout).toMatch(/lock expires +\S+ \((\d+ s left|expired)\)/);
    expect(status.stdout).toContain(`for 100.00 CNY`);
    // What the Temporal UI shows above the history.
    const shown = await stage.world.payouts.handle(ref(id)).query('__temporal_workflow_metadata');
    expect(JSON.stringify(shown)).toContain('The lock expires at');
    expect(createsOf(stage.world, ref(id))).toEqual([]);
    expect((await stage.approve(id, 'desk')).status).toBe(200);
    const { outcome, ...end } = await stage.ends(id);
    expect(outcome).toBe('SUCCESS');
    expect(end).not.toHaveProperty('lockExpiresAt');
  });

  test('H51 rejects its starter as approver on every interface, and accepts another caller', async () => {
    const id = await stage.started();
    await stage.waits(id);
    expect((await stage.approve(id, 'shop')).status).toBe(403);
    const byCli = await run('approve', id, '--by', 'Shop', '--json');
    expect(byCli.code).toBe(4);
    expect(byCli.json()).toMatchObject({ error: { message: expect.stringContaining('started') } });
    // As the Temporal UI sends it: by update name, unencrypted.
    const byUi = stage.world.payouts.handle(ref(id)).executeUpdate('approve', { args: [{ by: ' shop ' }] });
    await expect(byUi).rejects.toMatchObject({ cause: { type: 'NotAcceptedNow' } });
    expect((await stage.stateOf(id)).phase).toBe('AWAITING_APPROVAL');
    await stage.world.payouts.handle(ref(id)).executeUpdate('approve', { args: [{ by: 'olga' }] });
    expect((await stage.ends(id)).outcome).toBe('SUCCESS');
  });

  test('on the command line: rejects the --by that started it as approver; another approves or refuses', async () => {
    const [one, two] = [stage.request(), stage.request()];
    const begun = await cli(
      stage.world.workerEnvironment,
      ['start', '-', '--by', 'olga'],
      JSON.stringify([one, two]),
    );
    expect(begun.code).toBe(0);
    await Promise.all([stage.waits(one.partnerOrderId), stage.waits(two.partnerOrderId)]);
    expect((await run('approve', one.partnerOrderId, '--by', 'olga')).code).toBe(4);
    expect((await run('approve', one.partnerOrderId, '--by', 'piet')).code).toBe(0);
    expect((await run('refuse', two.partnerOrderId, '--by', 'piet', '--note', 'no')).code).toBe(0);
    expect((await stage.ends(one.partnerOrderId)).outcome).toBe('SUCCESS');
    expect((await stage.ends(two.partnerOrderId)).reason?.code).toBe('APPROVAL_REFUSED');
  });

  test('a decision that names a quote counts for no later quote', async () => {
    const id = await stage.started();
    const first = await stage.waits(id);
    const seen = { lockRateId: first.quote?.lockRateId };
    expect((await run('status', id)).stdout).toMatch(new RegExp(`lock +${seen.lockRateId}`));
    const over = Date.parse(first.lockExpiresAt ?? '');
    await eventually(() => stage.world.clock.wallMs() > over || undefined);
    const { rates } = stage.world.simulator.control.settings();
    stage.world.simulator.control.changeSettings({ rates: { ...rates, 'USD/CNY': '6.4000' } });
    try {
      expect((await post(`${stage.at}/${id}/approve`, seen, as('desk'))).status).toBe(200);
      const { quote } = await stage.until(
        id,
        (state) => state.phase === 'AWAITING_APPROVAL' && state.quote?.lockRateId !== seen.lockRateId,
      );
      const current = quote?.lockRateId ?? '';
      // A repeat after a 503 returns the state, and approves nothing.
      const repeated = await post(`${stage.at}/${id}/approve`, seen, as('desk'));
      expect(repeated).toMatchObject({ status: 200, body: { phase: 'AWAITING_APPROVAL' } });
      const refused = await post(`${stage.at}/${id}/refuse`, seen, as('desk'));
      expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining(current) } });
      // The decisions of approvers who read the state before the requote.
      for (const verb of ['approve', 'refuse'] as const) {
        const flags = ['--by', 'piet', '--lock-rate-id', seen.lockRateId ?? ''];
        expect((await run(verb, id, ...flags)).code).toBe(4);
        const bySdk = stage.world.payouts[verb](ref(id), { by: 'piet', ...seen });
        await expect(bySdk).rejects.toMatchObject({ cause: { type: 'NotAcceptedNow' } });
      }
      expect((await stage.stateOf(id)).phase).toBe('AWAITING_APPROVAL');
      expect(createsOf(stage.world, ref(id))).toEqual([]);
      expect((await run('approve', id, '--by', 'piet', '--lock-rate-id', current)).code).toBe(0);
      expect((await stage.ends(id)).outcome).toBe('SUCCESS');
    } finally {
      stage.world.simulator.control.changeSettings({ rates });
    }
  });
});

describe('waiting payouts', () => {
  test('cancel ends a wait for notBefore, over HTTP and on the command line', async () => {
    const notBefore = new Date(stage.world.clock.wallMs() + 3_600_000).toISOString();
    const ids = [await stage.started({ notBefore }), await stage.started({ notBefore })];
    const [first = '', second = ''] = ids;
    for (const id of ids) await stage.until(id, ({ phase }) => phase === 'SCHEDULED');
    expect((await post(`${stage.at}/${first}/cancel`, { reason: 'no' }, as('desk'))).status).toBe(200);
    expect((await run('cancel', second, '--by', 'piet')).code).toBe(0);
    for (const id of ids) expect((await stage.ends(id)).reason?.code).toBe('CANCELLED');
  });
});
