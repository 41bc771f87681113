/** What a payout can be told and asked. Handlers never throw, but for an update that is refused with its reason. */
import { condition, log, setHandler, workflowInfo } from '@temporalio/workflow';
import type { PayoutState } from '../../domain/payout.ts';
import {
  approveUpdate,
  type CancelRequest,
  cancelUpdate,
  type Decision,
  notificationSignal,
  pollUpdate,
  type Resolution,
  refuseUpdate,
  resolveUpdate,
  stateQuery,
} from '../messages.ts';
import { isRecord, onSignal } from '../raw-signal.ts';
import { demand, named, notAccepted } from '../refusals.ts';
import type { PayoutLife } from './payout-life.ts';
import { stateOf } from './show-state.ts';
import { takeOverNamed } from './take-over-order.ts';

export function installHandlers(life: PayoutLife): void {
  setHandler(stateQuery, () => stateOf(life));
  onSignal(notificationSignal, (notification) => heard(life, notification));
  decisions(life);
  setHandler(pollUpdate, () => pollNow(life), { validator: () => demand(canPoll(life)) });
}

function decisions(life: PayoutLife): void {
  const { record } = life;
  const decide = (apply: (decision: Decision) => void) => (decision: Decision) => {
    apply(decision);
    return stateOf(life);
  };
  const validator = (decision: Decision) => demand(named(decision) ?? canDecide(life));
  const byAnother = (decision: Decision) => demand(named(decision) ?? canDecide(life) ?? startedBy(decision));
  setHandler(
    approveUpdate,
    decide(({ by }) => {
      if (record.quote) record.approved = { by, quote: record.quote };
    }),
    { validator: byAnother },
  );
  setHandler(
    refuseUpdate,
    decide(({ by, note }) => {
      record.refused = { by, note };
    }),
    { validator },
  );
  setHandler(cancelUpdate, (request) => cancel(life, request), {
    validator: (request) => demand(named(request) ?? canCancel(life)),
  });
  setHandler(resolveUpdate, (resolution) => resolve(life, resolution), {
    validator: (resolution) => demand(named(resolution) ?? resolvable(life, resolution)),
  });
}

/** A hint for this payout, or one that cannot be read, means: ask. One that names another payout means nothing. */
function heard(life: PayoutLife, notification: unknown): void {
  if (!isRecord(notification)) {
    log.warn('a notification could not be decoded; it is taken as a hint without content');
  } else if (isForAnother(life, notification)) {
    log.warn('a notification names another payout; it is left aside');
    return;
  }
  life.record.hinted = true;
}

function isForAnother(life: PayoutLife, notification: Record<string, unknown>): boolean {
  const { orderId, partnerOrderId } = notification;
  const ours = life.checkedRequest?.partnerOrderId;
  const ourOrder = life.record.order?.orderId;
  if (typeof partnerOrderId === 'string' && ours !== undefined) return partnerOrderId !== ours;
  return typeof orderId === 'string' && ourOrder !== undefined && orderId !== ourOrder;
}

async function pollNow(life: PayoutLife): Promise<PayoutState> {
  const before = life.record.asks;
  life.pollRequested = true;
  await condition(() => life.record.asks > before || life.record.phase === 'DONE');
  return stateOf(life);
}

async function cancel(life: PayoutLife, { by, reason }: CancelRequest): Promise<PayoutState> {
  life.cancel(by, reason);
  await condition(() => life.record.phase === 'DONE');
  return stateOf(life);
}

async function resolve(life: PayoutLife, resolution: Resolution): Promise<PayoutState> {
  if (resolution.created) {
    const problem = await takeOverNamed(life, resolution.orderId);
    if (problem) throw notAccepted(problem);
  }
  life.resolution = resolution;
  return stateOf(life);
}

function canDecide({ record }: PayoutLife): string | undefined {
  if (record.phase !== 'AWAITING_APPROVAL') return `no approval is waited for: the payout is ${record.phase}`;
  if (record.approved || record.refused) return 'it has been decided already';
  return undefined;
}

/** However it is asked: by HTTP, the command line, an SDK or the Temporal UI. */
function startedBy({ by }: Decision): string | undefined {
  const starter = workflowInfo().memo?.['startedBy'];
  const same = typeof starter === 'string' && starter.trim().toLowerCase() === by.trim().toLowerCase();
  return same ? 'who started a payout cannot approve it' : undefined;
}

function canCancel({ record }: PayoutLife): string | undefined {
  if (record.phase === 'DONE') return 'the payout has ended';
  if (record.creation.stage === 'quoting') return undefined;
  if (record.creation.stage === 'review') return 'the order may exist: use resolve';
  return record.creation.stage === 'created'
    ? 'the order exists; the payments service has no way to take it back'
    : 'the creation has begun';
}

function canPoll({ record }: PayoutLife): string | undefined {
  if (record.phase === 'DONE') return 'the payout has ended';
  const { stage } = record.creation;
  return stage === 'quoting' || stage === 'sending' ? 'no order has been created yet' : undefined;
}

function resolvable(life: PayoutLife, resolution: Resolution): string | undefined {
  const { created } = resolution;
  if (life.record.creation.stage !== 'review')
    return `there is nothing to resolve: the payout is ${life.record.phase}`;
  if (life.resolution) return 'it has been resolved already';
  if (created === true)
    return typeof resolution.orderId === 'string' && resolution.orderId !== ''
      ? undefined
      : 'orderId: is missing';
  if (created !== false) return 'created: must be true or false';
  return resolution.then === 'end' || resolution.then === 'retry' ? undefined : 'then: must be end or retry';
}
