/** What the provider, Temporal and people recorded about one payout. The hazard predicates read it. */
import type { CallRecord, CreateRecord, OrderRecord } from '../../simulator/index.ts';
import type { PayoutResult } from '../../src/domain/payout.ts';
import { partnerOrderIdOf, payoutId } from '../payouts/payout-world.ts';
import type { Scene } from '../payouts/scene.ts';
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';

export interface ActivityRun {
  type: string;
  atMs: number;
  endedAtMs: number;
  ended: 'completed' | 'failed' | 'timed-out' | 'open';
}

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
      activities: runs.flatMap(activitiesOf),
      actions: timeline.flatMap(({ about, atMs, action }) =>
        about === id && action !== undefined ? [{ what: action, atMs }] : [],
      ),
    };
  });
}

const { EVENT_TYPE_ACTIVITY_TASK_COMPLETED, EVENT_TYPE_ACTIVITY_TASK_FAILED } = EventType;
const { EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT } = EventType;

function activitiesOf({ entries }: Run): ActivityRun[] {
  const byId = new Map<number, ActivityRun>();
  const end = (scheduledId: unknown, atMs: number, ended: ActivityRun['ended']) => {
    const activity = byId.get(Number(scheduledId));
    if (activity) Object.assign(activity, { ended, endedAtMs: atMs });
  };
  for (const { id, type, at, event } of entries) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled)
      byId.set(id, {
        type: scheduled.activityType?.name ?? '',
        ...{ atMs: at, endedAtMs: Number.POSITIVE_INFINITY, ended: 'open' },
      });
    else if (type === EVENT_TYPE_ACTIVITY_TASK_COMPLETED)
      end(event.activityTaskCompletedEventAttributes?.scheduledEventId, at, 'completed');
    else if (type === EVENT_TYPE_ACTIVITY_TASK_FAILED)
      end(event.activityTaskFailedEventAttributes?.scheduledEventId, at, 'failed');
    else if (type === EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT)
      end(event.activityTaskTimedOutEventAttributes?.scheduledEventId, at, 'timed-out');
  }
  return [...byId.values()];
}
