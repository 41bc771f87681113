import { WorkflowUpdateFailedError } from '@temporalio/client';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { VisibilityLagsError } from '../../src/temporal/decisive-run.ts';
import { PayoutWorld, partnerOrderIdOf, payoutId } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { EventType } from '../../worlds/temporal/history.ts';
import { snapshotOf } from '../../worlds/temporal/snapshot.ts';

const partnerOrderId = partnerOrderIdOf(1);
const approval = { approval: 'required' as const };

const HOUR_MS = 3_600_000;

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

async function approved(system: PayoutWorld): Promise<void> {
  await system.world.run({ withinMs: 10_000 });
  await system.world.finish(system.payouts.approve({ partnerOrderId }, { by: 'olga' }));
}

// The search for the decisive run takes about 25 ms.
test.each(Array.from({ length: 12 }, (_, index) => 2 + 2 * index))(
  'H53 a start whose check of bad input is overtaken by a restore, after %i ms, is no conflict',
  async (restoredAfterMs) => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, client, payouts, server } = system;
    const snapshot = snapshotOf(server);
    await world.finish(
      client.workflow.start('payout', {
        ...{ taskQueue: PAYOUTS_TASK_QUEUE, workflowId: payoutId(1), args: [{ nonsense: true }] },
      }),
    );
    const isRejected = () => server.latest(payoutId(1))?.isRunning === false;
    expect(await world.run({ done: isRejected, withinMs: HOUR_MS })).toBe('done');
    await world.run({ withinMs: 1_000 });
    const started = system.start(1);
    await world.run({ withinMs: restoredAfterMs });
    system.restore(snapshot);
    // A later call succeeds, as the error says.
    await world.finish(started).catch((error) => expect(error).toBeInstanceOf(VisibilityLagsError));
    await world.finish(system.start(1));
    expect((await world.finish(payouts.result({ partnerOrderId }))).outcome).toBe('SUCCESS');
    await system.end();
  },
);

describe('H53 Temporal is restored to before a payout paid', () => {
  test('a payout that Temporal still has confirms, and adopts its order', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, payouts, provider, server } = system;
    await world.finish(system.start(1, approval));
    await world.run({ withinMs: 10_000 });
    const snapshot = snapshotOf(server);
    await approved(system);
    expect((await world.finish(payouts.result({ partnerOrderId }))).outcome).toBe('SUCCESS');
    system.restore(snapshot);
    await approved(system);
    expect((await world.finish(payouts.result({ partnerOrderId }))).outcome).toBe('SUCCESS');
    expect(provider.control.ledgerOf(partnerOrderId).creates).toHaveLength(1);
  });

  test('a forgotten payout that is started again and canceled still reports the order', async () => {
    const system = new PayoutWorld({ workflows, seed: 1 });
    const { world, payouts, provider, server } = system;
    const snapshot = snapshotOf(server);
    await world.finish(system.start(1, approval));
    await approved(system);
    await world.run({ withinMs: 1_000 });
    expect(provider.control.ledgerOf(partnerOrderId).debits).toBe(1);
    system.restore(snapshot);
    await world.finish(system.start(1, approval));
    await world.run({ withinMs: 10_000 });
    const canceled = world.finish(payouts.cancel({ partnerOrderId }, { by: 'olga' }));
    await expect(canceled).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
    expect((await world.finish(payouts.result({ partnerOrderId }))).outcome).toBe('SUCCESS');
    expect(provider.control.ledgerOf(partnerOrderId).creates).toHaveLength(1);
  });

  test.each(['waits', 'cancels'])(
    'a forgotten payout whose order no query shows yet waits for the order when started again; a person %s',
    async (then) => {
      const system = new PayoutWorld({ workflows, seed: 1, settings: { readLagMs: 9_000 } });
      const { world, payouts, provider, server } = system;
      const snapshot = snapshotOf(server);
      await world.finish(system.start(1));
      const ledger = () => provider.control.ledgerOf(partnerOrderId);
      await world.run({ done: () => ledger().creates.length > 0, withinMs: 60_000 });
      system.restore(snapshot);
      await world.finish(system.start(1));
      if (then === 'cancels') {
        await world.run({ withinMs: 5_000 });
        const canceled = world.finish(payouts.cancel({ partnerOrderId }, { by: 'olga' }));
        await expect(canceled).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
      }
      expect((await world.finish(payouts.result({ partnerOrderId }))).outcome).toBe('SUCCESS');
      expect([ledger().creates.length, ledger().debits]).toEqual([1, 1]);
      expect(world.violations).toEqual([]);
    },
  );

  test('a payout that starts soon after the restore is paid once the confirmation window has passed', async () => {
    const env = { PAYOUTS_CONFIRMATION_WINDOW: '60s' };
    const system = new PayoutWorld({ workflows, seed: 1, env });
    const { world, payouts, provider, server } = system;
    system.restore(snapshotOf(server));
    const restoredAt = world.now;
    await world.finish(system.start(1));
    expect((await world.finish(payouts.result({ partnerOrderId }))).outcome).toBe('SUCCESS');
    const [create] = provider.control.ledgerOf(partnerOrderId).creates;
    expect(create?.atMs).toBeGreaterThan(restoredAt + 60_000);
    expect(provider.control.ledgerOf(partnerOrderId).creates).toHaveLength(1);
    // Before the window, at its end, and right before the create: thousands may wait like this one.
    const questions = provider.control.calls().filter(({ operation }) => operation === 'queryResult');
    expect(questions.filter(({ atMs }) => atMs < (create?.atMs ?? 0)).length).toBeLessThanOrEqual(3);
  });

  test('H6 a payout that starts soon after the restore, sends, and is reset: a person decides, and nothing is sent again', async () => {
    const system = new PayoutWorld({ workflows, seed: 1, settings: { readLagMs: 48 * HOUR_MS } });
    const { world, payouts, provider, server } = system;
    provider.control.addFault({ operation: 'createCnyOrder', times: 1, fault: { kind: 'drop-after' } });
    system.restore(snapshotOf(server));
    await world.finish(system.start(1));
    const inReview = async () => {
      await world.run({ withinMs: HOUR_MS });
      expect(await world.finish(payouts.state({ partnerOrderId }))).toMatchObject({ phase: 'NEEDS_REVIEW' });
      expect(provider.control.ledgerOf(partnerOrderId).creates).toHaveLength(1);
    };
    await inReview();
    // The run that sent. The payout continued as new since then.
    const run = server.runs.find(({ workflowId }) => workflowId === payoutId(1));
    const finished = run?.entries.find(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    if (run) server.reset(run, finished?.id ?? 0, 'a try');
    await inReview();
  });
});
