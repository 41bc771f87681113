/** What the provider, Temporal and people recorded about one payout. The hazard predicates read it. */
import type { CallRecord, CreateRecord, OrderRecord } from '../../simulator/index.ts';
import type { PayoutResult } from '../../src/contract/payout.ts';
import { partnerOrderIdOf, payoutId } from '../payouts/payout-world.ts';
import type { Scene } from '../payouts/scene.ts';
import { type ActivityRun, activitiesIn } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';

export interface PayoutEvidence {
  scenario: string;
  creates: readonly CreateRecord[];
  orders: readonly OrderRecord[];
  calls: readonly CallRecord[];
  runs: readonly Run[];
  activities: readonly ActivityRun[];
  result: PayoutResult | undefined;
  /** Actions of people on the payout (`cancel`, `reset`, …), with their times. */
  actions: readonly { what: string; atMs: number }[];
}

export function collectEvidence({ plan, system, timeline, results }: Scene): PayoutEvidence[] {
  const { server, provider } = system;
  const calls = provider.control.calls();
  return plan.payouts.map(({ number, request }) => {
    const id = partnerOrderIdOf(number);
    const { creates, orders } = provider.control.ledgerOf(id);
    const runs = server.runs.filter(({ workflowId }) => workflowId === payoutId(number));
    return {
      ...{
        creates,
        orders,
        runs,
        result: results.get(number),
        calls: calls.filter((call) => call.partnerOrderId === id),
      },
      scenario: (request.platform ?? '').replace(/^sim:/, ''),
      activities: runs.flatMap(({ entries }) => activitiesIn(entries)),
      actions: timeline.flatMap(({ about, atMs, action }) =>
        about === id && action !== undefined ? [{ what: action, atMs }] : [],
      ),
    };
  });
}
