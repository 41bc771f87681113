/** The steps of a payout from the histories of its runs. */
import type { Client } from '@temporalio/client';
import type { SerializationContext } from '@temporalio/common';
import {
  decodeArrayFromPayloads,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { z } from 'zod';
import { label, OUTCOMES } from '../contract/codes.ts';
import { moneySchema } from '../contract/fields.ts';
import { formatMoney } from '../contract/money.ts';
import type { Timeline } from '../contract/payout.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { firstEvents, type HistoryEvent, type WorkflowRun } from '../temporal/histories.ts';
import { contextOf } from '../temporal/own-payloads.ts';

/** A page of Temporal. A payout continues as new long before it has so many. */
const MAX_EVENTS = 1_000;
const MAX_EARLIER_RUNS = 5;

type Step = Timeline['steps'][number];

/** Provider calls: with a usable response, and without one. */
const CALLS: Readonly<Record<string, readonly [answered: string, unanswered: string]>> = {
  beginPayout: ['Quoted', 'Asked for a quote'],
  quoteForClient: ['Quoted', 'Asked for a quote'],
  createPayout: ['Order sent', 'Order may have been sent'],
  confirmOrder: ['Asked whether the order exists', 'Asked whether the order exists'],
  fetchOrder: ['Order read', 'Asked for the order'],
  fetchTradeWithDetail: ['Status read', 'Asked for the status'],
  fetchTradeDetail: ['Payments read', 'Asked for the payments'],
};
const EVIDENCE = ['createPayout', 'confirmOrder', 'fetchOrder'];

/** By the `cause` of a create call that was not sent. An earlier one may have been. */
const WHY_NOT_SENT: Readonly<Record<string, string>> = {
  unreachable: 'The provider could not be reached in time.',
  'too-late': 'The rate lock may have expired.',
  'earlier-run': 'An earlier run may have sent it.',
  restored: 'Temporal was restored: a lost run may have sent it.',
  'lost-run': 'Temporal was restored: a lost run may have sent it.',
  'may-have-been-sent': 'An earlier attempt may have sent it.',
  exists: 'The order exists already.',
  unconfirmed: 'The provider did not say whether the order exists.',
  paused: 'The application is paused.',
  unapproved: 'It needs an approval.',
};

const found = z.object({ orderId: z.string().optional(), status: z.string().optional() });
const answer = z.object({
  kind: z.string().optional(),
  cause: z.string().optional(),
  message: z.string().optional(),
  problem: z.object({ message: z.string() }).optional(),
  quote: z.unknown().optional(),
  pay: moneySchema.optional(),
  target: moneySchema.optional(),
  exists: z.boolean().optional(),
  order: found.optional(),
  trade: found.nullish(),
});

/** What the provider said. */
function said([answered, unanswered]: readonly [string, string], result: unknown): NonNullable<Found> {
  const {
    kind,
    cause = '',
    message,
    problem,
    quote,
    pay,
    target,
    exists,
    order,
    trade,
  } = answer.safeParse(result).data ?? {};
  // The first quote is inside the result of the check, and its terms are inside it.
  if (quote !== undefined) return said([answered, unanswered], quote);
  if (kind === 'not-sent') return { what: 'Order not sent', detail: WHY_NOT_SENT[cause], tone: 'warn' };
  if (kind === 'invalid') return { what: 'Order not sent', detail: message, tone: 'bad' };
  if (kind === 'not-created')
    return { what: answered, detail: 'The provider did not accept it.', tone: 'bad' };
  if (kind === 'refused' || problem)
    return { what: unanswered, detail: problem?.message ?? message, tone: 'bad' };
  if (exists === false || trade === null)
    return { what: answered, detail: 'The provider knows no order.', tone: 'warn' };
  if (pay && target)
    return { what: answered, detail: `${formatMoney(pay)} for ${formatMoney(target)}.`, tone: 'good' };
  return { what: answered, ...seen(trade ?? order ?? {}) };
}

function seen({ orderId, status }: z.output<typeof found>): Pick<Step, 'detail' | 'tone'> {
  const known = [orderId && `Order ${orderId}`, status && label(status)].filter(Boolean).join(': ');
  return { ...(known !== '' && { detail: `${known}.` }), tone: status === 'FAILED' ? 'bad' : 'good' };
}

/** The updates of a payout that were carried out. */
const DECIDED: Readonly<Record<string, string>> = {
  approve: 'Approved',
  refuse: 'Refused',
  cancel: 'Canceled',
  resolve: 'Review resolved',
  poll: 'Poll requested',
};

const decision = z.object({
  by: z.string(),
  note: z.string().optional(),
  reason: z.string().optional(),
  created: z.boolean().optional(),
  orderId: z.string().optional(),
  tradeOrderId: z.string().optional(),
  then: z.string().optional(),
});

const ended = z.object({ outcome: z.enum(OUTCOMES) });
const TONES = { SUCCESS: 'good', PARTIAL_SUCCESS: 'warn', FAILED: 'bad', NOT_CREATED: 'warn' } as const;

interface Started {
  run: WorkflowRun & { length: number };
  startedBy?: string | undefined;
}

/** One call to Temporal for each run: this one, and at most `earlier` that it continues. */
export async function timelineOf(
  client: Client,
  { run, startedBy }: Started,
  earlier = MAX_EARLIER_RUNS,
): Promise<Timeline> {
  // Temporal deletes histories some time after their end.
  const events = (await unlessGone(() => firstEvents(client, run, MAX_EVENTS))) ?? [];
  const runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  const before =
    runId && earlier > 0
      ? await timelineOf(client, { run: { ...run, runId, length: 1 }, startedBy }, earlier - 1)
      : { steps: [], isCut: Boolean(runId) };
  const reader = new StepReader(client, run.workflowId, events, startedBy);
  const { steps } = before;
  for (const event of events) {
    const step = await reader.stepOf(event);
    if (step) append(steps, { at: timeOf(event), ...step });
  }
  return { steps, isCut: before.isCut || events.length < run.length };
}

/** Steps that alternate, such as two kinds of query: so many are counted as repeated together. */
const MAX_ALTERNATING = 3;

const isSame = (one: Step | undefined, other: Step | undefined) =>
  one?.what === other?.what && one?.detail === other?.detail;

function append(steps: Step[], step: Step): void {
  steps.push(step);
  for (let size = 1; size <= MAX_ALTERNATING && 2 * size <= steps.length; size += 1) {
    const first = steps.slice(-2 * size, -size);
    const again = steps.slice(-size);
    if (!first.every((one, at) => isSame(one, again[at]))) continue;
    first.forEach((one, at) => {
      one.count = (one.count ?? 1) + (again[at]?.count ?? 1);
      one.lastAt = again[at]?.lastAt ?? again[at]?.at;
    });
    steps.length -= size;
    return;
  }
}

type Found = Omit<Step, 'at'> | undefined;
type UpdateOutcome = NonNullable<
  NonNullable<HistoryEvent['workflowExecutionUpdateCompletedEventAttributes']>['outcome']
>;
type UpdateRequest = NonNullable<
  NonNullable<HistoryEvent['workflowExecutionUpdateAdmittedEventAttributes']>['request']
>;

class StepReader {
  readonly #client: Client;
  /** Scheduled activities, by event id. */
  readonly #scheduled = new Map<string, HistoryEvent>();
  /** Outcomes of accepted updates, by the id of the event that accepted them. */
  readonly #outcomes = new Map<string, UpdateOutcome>();
  /** Updates that a Workflow Reset applied again, by their id: the event that accepts one doesn't repeat it. */
  readonly #admitted = new Map<string, UpdateRequest>();

  readonly #startedBy: string | undefined;
  readonly #context: SerializationContext;

  constructor(
    client: Client,
    workflowId: string,
    events: readonly HistoryEvent[],
    startedBy: string | undefined,
  ) {
    this.#client = client;
    this.#context = contextOf(client, workflowId);
    this.#startedBy = startedBy;
    for (const event of events) {
      if (event.activityTaskScheduledEventAttributes) this.#scheduled.set(String(event.eventId), event);
      const { acceptedEventId, outcome } = event.workflowExecutionUpdateCompletedEventAttributes ?? {};
      if (outcome) this.#outcomes.set(String(acceptedEventId), outcome);
      const { request } = event.workflowExecutionUpdateAdmittedEventAttributes ?? {};
      if (request) this.#admitted.set(request.meta?.updateId ?? '', request);
    }
  }

  /** Undefined for an event that is no step of the payout. */
  async stepOf(event: HistoryEvent): Promise<Found> {
    return (
      (await this.#activityStep(event)) ??
      (await this.#messageStep(event)) ??
      (await this.#finished(event)) ??
      endOf(event)
    );
  }

  async #finished({ workflowExecutionCompletedEventAttributes: completed }: HistoryEvent): Promise<Found> {
    if (!completed) return undefined;
    const result = await this.#decoded(completed.result?.payloads ?? []);
    const { outcome } = ended.safeParse(result).data ?? {};
    return { what: 'Finished', ...(outcome && { detail: `${label(outcome)}.`, tone: TONES[outcome] }) };
  }

  async #activityStep(event: HistoryEvent): Promise<Found> {
    const completed = event.activityTaskCompletedEventAttributes;
    const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
    const scheduled = this.#scheduled.get(String((completed ?? failed)?.scheduledEventId));
    if (!scheduled) return undefined;
    const type = scheduled.activityTaskScheduledEventAttributes?.activityType?.name ?? '';
    const words = CALLS[type];
    const isEvidence = EVIDENCE.includes(type);
    const noResponse = { detail: 'No usable response.', tone: 'warn', isEvidence } as const;
    if (words && failed) return { what: words[1], ...noResponse };
    if (words) {
      const result = await this.#decoded(completed?.result?.payloads ?? []);
      return { ...said(words, result), isEvidence };
    }
    const summary = await this.#summaryOf(scheduled);
    // An activity without a summary does bookkeeping.
    return summary === undefined ? undefined : { what: capital(summary), ...(failed && noResponse) };
  }

  async #messageStep(event: HistoryEvent): Promise<Found> {
    if (event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId) return undefined;
    if (event.workflowExecutionStartedEventAttributes)
      return { what: this.#startedBy === undefined ? 'Started' : `Started by ${this.#startedBy}` };
    if (event.workflowExecutionSignaledEventAttributes?.signalName === 'notification')
      return { what: 'The provider sent a notification' };
    const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
    if (!accepted) return undefined;
    const input = (accepted.acceptedRequest ?? this.#admitted.get(accepted.protocolInstanceId ?? ''))?.input;
    if (!input) return undefined;
    const argument = await this.#decoded(input.args?.payloads ?? []);
    const outcome = this.#outcomes.get(String(event.eventId));
    return outcome?.success
      ? decisionStep(input.name ?? '', argument)
      : this.#undecidedStep(input.name ?? '', argument, outcome?.failure);
  }

  /** An update that is not carried out, or was refused after its acceptance, is no decision. */
  async #undecidedStep(name: string, argument: unknown, failure: UpdateOutcome['failure']): Promise<Found> {
    const { by } = decision.safeParse(argument).data ?? {};
    const what = `${label(name)}${by === undefined ? '' : ` by ${by}`}`;
    if (!failure) return { what: `${what} is in progress` };
    const { loadedDataConverter } = this.#client.options;
    const why = await decodeOptionalFailureToOptionalError(loadedDataConverter, failure, this.#context).catch(
      () => undefined,
    );
    return { what: `${what} was not accepted`, tone: 'warn', detail: why && `${capital(why.message)}.` };
  }

  async #summaryOf({ userMetadata }: HistoryEvent): Promise<string | undefined> {
    const summary = userMetadata?.summary;
    const text = summary ? await this.#decoded([summary]) : undefined;
    return typeof text === 'string' ? text : undefined;
  }

  /** The first of them. Undefined if it is unreadable. */
  async #decoded(payloads: Parameters<typeof decodeArrayFromPayloads>[1]): Promise<unknown> {
    try {
      const [value] = await decodeArrayFromPayloads(
        this.#client.options.loadedDataConverter,
        payloads,
        this.#context,
      );
      return value;
    } catch {
      return undefined;
    }
  }
}

const REFUSING = ['refuse', 'cancel'];

function decisionStep(name: string, argument: unknown): Found {
  const done = DECIDED[name] ?? label(name);
  const read = decision.safeParse(argument);
  if (!read.success) return { what: done };
  const { by, note, reason, created, orderId, tradeOrderId, then } = read.data;
  const reasons = [
    note ?? reason,
    created === true &&
      `The order is ${orderId}${tradeOrderId ? ` (${tradeOrderId} in trade queries)` : ''}.`,
    created === false && `No order was created; then: ${then}.`,
  ].filter((part) => typeof part === 'string');
  return {
    what: `${done} by ${by}`,
    tone: REFUSING.includes(name) ? 'bad' : 'good',
    ...(reasons.length > 0 && { detail: reasons.join(' ') }),
  };
}

function endOf(event: HistoryEvent): Found {
  if (event.workflowExecutionFailedEventAttributes) return { what: 'The workflow failed', tone: 'bad' };
  if (event.workflowExecutionTerminatedEventAttributes)
    return { what: 'The workflow was terminated', tone: 'bad' };
  if (event.workflowExecutionTimedOutEventAttributes) return { what: 'The workflow timed out', tone: 'bad' };
  if (event.workflowExecutionCancelRequestedEventAttributes) return { what: 'A cancellation was requested' };
  return undefined;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function timeOf({ eventTime }: HistoryEvent): string {
  return new Date(eventTime ? tsToMs(eventTime) : 0).toISOString();
}
