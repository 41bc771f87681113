/** The steps of a payout from the history of its latest run, in the words that the Temporal UI shows. */
import type { Client } from '@temporalio/client';
import {
  decodeArrayFromPayloads,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { z } from 'zod';
import type { Timeline } from '../contract/payout.ts';
import { unlessGone } from '../temporal/client-errors.ts';
import { firstEvents, type HistoryEvent, type WorkflowRun } from '../temporal/histories.ts';

/** A page of Temporal. A payout continues as new long before it has so many. */
const MAX_EVENTS = 1_000;

type Step = Timeline['steps'][number];

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

interface Started {
  run: WorkflowRun & { length: number };
  startedBy: string | undefined;
}

/** One call to Temporal. */
export async function timelineOf(client: Client, { run, startedBy }: Started): Promise<Timeline> {
  // Temporal deletes histories some time after their end.
  const events = (await unlessGone(() => firstEvents(client, run, MAX_EVENTS))) ?? [];
  const reader = new StepReader(client, events, startedBy);
  const steps: Step[] = [];
  for (const event of events) {
    const step = await reader.stepOf(event);
    if (step) append(steps, { at: timeOf(event), ...step });
  }
  return { steps, isCut: events.length < run.length };
}

function append(steps: Step[], step: Step): void {
  const last = steps.at(-1);
  if (last === undefined || last.what !== step.what || last.detail !== step.detail) {
    steps.push(step);
    return;
  }
  last.count = (last.count ?? 1) + 1;
  last.lastAt = step.at;
}

type Found = Omit<Step, 'at'> | undefined;
type UpdateOutcome = NonNullable<
  NonNullable<HistoryEvent['workflowExecutionUpdateCompletedEventAttributes']>['outcome']
>;

class StepReader {
  readonly #client: Client;
  /** Scheduled activities, by event id. */
  readonly #scheduled = new Map<string, HistoryEvent>();
  /** Outcomes of accepted updates, by the id of the event that accepted them. */
  readonly #outcomes = new Map<string, UpdateOutcome>();

  readonly #startedBy: string | undefined;

  constructor(client: Client, events: readonly HistoryEvent[], startedBy: string | undefined) {
    this.#client = client;
    this.#startedBy = startedBy;
    for (const event of events) {
      if (event.activityTaskScheduledEventAttributes) this.#scheduled.set(String(event.eventId), event);
      const { acceptedEventId, outcome } = event.workflowExecutionUpdateCompletedEventAttributes ?? {};
      if (outcome) this.#outcomes.set(String(acceptedEventId), outcome);
    }
  }

  /** Undefined for an event that is no step of the payout. */
  async stepOf(event: HistoryEvent): Promise<Found> {
    return (await this.#activityStep(event)) ?? (await this.#messageStep(event)) ?? endOf(event);
  }

  async #activityStep(event: HistoryEvent): Promise<Found> {
    const completed = event.activityTaskCompletedEventAttributes;
    const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
    const scheduled = this.#scheduled.get(String((completed ?? failed)?.scheduledEventId));
    if (!scheduled) return undefined;
    const summary = await this.#summaryOf(scheduled);
    // An activity without a summary does bookkeeping.
    if (summary === undefined) return undefined;
    return { what: sentenceOf(summary), ...(failed && { detail: 'No usable response.' }) };
  }

  async #messageStep(event: HistoryEvent): Promise<Found> {
    if (event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId)
      return { what: 'Continued from an earlier run.' };
    if (event.workflowExecutionStartedEventAttributes)
      return { what: this.#startedBy === undefined ? 'Started.' : `Started by ${this.#startedBy}.` };
    if (event.workflowExecutionSignaledEventAttributes?.signalName === 'notification')
      return { what: 'A notification from the provider arrived.' };
    const input = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
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
    const what = `${named(name)}${by === undefined ? '' : ` by ${by}`}`;
    if (!failure) return { what: `${what}: in progress.` };
    const { loadedDataConverter } = this.#client.options;
    const why = await decodeOptionalFailureToOptionalError(loadedDataConverter, failure).catch(
      () => undefined,
    );
    return { what: `${what}: not accepted.`, detail: why && sentenceOf(why.message) };
  }
  async #summaryOf({ userMetadata }: HistoryEvent): Promise<string | undefined> {
    const summary = userMetadata?.summary;
    const text = summary ? await this.#decoded([summary]) : undefined;
    return typeof text === 'string' ? text : undefined;
  }

  /** The first of them. Undefined if it was encrypted with a key that this server does not have. */
  async #decoded(payloads: Parameters<typeof decodeArrayFromPayloads>[1]): Promise<unknown> {
    try {
      const [value] = await decodeArrayFromPayloads(this.#client.options.loadedDataConverter, payloads);
      return value;
    } catch {
      return undefined;
    }
  }
}

function decisionStep(name: string, argument: unknown): Found {
  const done = DECIDED[name] ?? named(name);
  const read = decision.safeParse(argument);
  if (!read.success) return { what: `${done}.` };
  const { by, note, reason, created, orderId, tradeOrderId, then } = read.data;
  const said = [
    note ?? reason,
    created === true &&
      `The order is ${orderId}${tradeOrderId ? ` (${tradeOrderId} in trade queries)` : ''}.`,
    created === false && `No order was created; then: ${then}.`,
  ].filter((part) => typeof part === 'string');
  return { what: `${done} by ${by}.`, ...(said.length > 0 && { detail: said.join(' ') }) };
}

function endOf(event: HistoryEvent): Found {
  if (event.workflowExecutionCompletedEventAttributes) return { what: 'Ended.' };
  if (event.workflowExecutionFailedEventAttributes) return { what: 'The workflow failed.' };
  if (event.workflowExecutionTerminatedEventAttributes) return { what: 'The workflow was terminated.' };
  if (event.workflowExecutionTimedOutEventAttributes) return { what: 'The workflow timed out.' };
  if (event.workflowExecutionCancelRequestedEventAttributes) return { what: 'A cancellation was requested.' };
  return undefined;
}

/** The name of an update that only a newer version knows. */
function named(update: string): string {
  return update.charAt(0).toUpperCase() + update.slice(1);
}

function sentenceOf(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

function timeOf({ eventTime }: HistoryEvent): string {
  return new Date(eventTime ? tsToMs(eventTime) : 0).toISOString();
}
