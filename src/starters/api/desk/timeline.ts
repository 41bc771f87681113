/** The steps of a payout from the history of its latest run, in the words that the Temporal UI shows. */
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { z } from 'zod';
import type { WorkflowRun } from '../../../temporal/histories.ts';
import { firstEvents, type HistoryEvent } from '../../../temporal/histories.ts';
import { label } from './html.ts';

/** A page of Temporal. A payout continues as new long before it has so many. */
const MAX_EVENTS = 1_000;

export interface Step {
  /** ISO 8601. */
  at: string;
  what: string;
  detail?: string | undefined;
  /** Of equal steps in a row, such as polls: how many, and when the last one was. */
  count?: number;
  lastAt?: string;
}

interface Timeline {
  steps: Step[];
  /** Temporal has more events than were read. */
  isCut: boolean;
}

/** The updates of a payout, as what a person did. */
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
  then: z.string().optional(),
});

export async function timelineOf(client: Client, run: WorkflowRun & { length: number }): Promise<Timeline> {
  const events = await firstEvents(client, run, MAX_EVENTS);
  const reader = new StepReader(client, events);
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

class StepReader {
  private readonly client: Client;
  /** What scheduled activities do, by event id. */
  private readonly scheduled = new Map<string, HistoryEvent>();

  constructor(client: Client, events: readonly HistoryEvent[]) {
    this.client = client;
    for (const event of events)
      if (event.activityTaskScheduledEventAttributes) this.scheduled.set(String(event.eventId), event);
  }

  /** Undefined for an event that is no step of the payout. */
  async stepOf(event: HistoryEvent): Promise<Found> {
    return (await this.activityStep(event)) ?? (await this.messageStep(event)) ?? endOf(event);
  }

  private async activityStep(event: HistoryEvent): Promise<Found> {
    const completed = event.activityTaskCompletedEventAttributes;
    const failed = event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
    const scheduled = this.scheduled.get(String((completed ?? failed)?.scheduledEventId));
    if (!scheduled) return undefined;
    const summary = await this.summaryOf(scheduled);
    // An activity without a summary does bookkeeping.
    if (summary === undefined) return undefined;
    return { what: sentenceOf(summary), ...(failed && { detail: 'It got no usable answer.' }) };
  }

  private async messageStep(event: HistoryEvent): Promise<Found> {
    if (event.workflowExecutionStartedEventAttributes?.continuedExecutionRunId)
      return { what: 'Continued from an earlier run.' };
    if (event.workflowExecutionStartedEventAttributes) return { what: 'Started.' };
    if (event.workflowExecutionSignaledEventAttributes?.signalName === 'notification')
      return { what: 'A notification of the provider arrived.' };
    const input = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
    if (!input) return undefined;
    return this.decisionStep(input.name ?? '', await this.decoded(input.args?.payloads ?? []));
  }

  private decisionStep(name: string, argument: unknown): Found {
    const done = DECIDED[name] ?? label(name);
    const read = decision.safeParse(argument);
    if (!read.success) return { what: `${done}.` };
    const { by, note, reason, created, orderId, then } = read.data;
    const said = [
      note ?? reason,
      created === true && `The order is ${orderId}.`,
      created === false && `No order was created; then: ${then}.`,
    ].filter((part) => typeof part === 'string');
    return { what: `${done} by ${by}.`, ...(said.length > 0 && { detail: said.join(' ') }) };
  }

  private async summaryOf({ userMetadata }: HistoryEvent): Promise<string | undefined> {
    const summary = userMetadata?.summary;
    const text = summary ? await this.decoded([summary]) : undefined;
    return typeof text === 'string' ? text : undefined;
  }

  /** The first of them. Undefined if it was encrypted with a key that this server does not have. */
  private async decoded(payloads: Parameters<typeof decodeArrayFromPayloads>[1]): Promise<unknown> {
    try {
      const [value] = await decodeArrayFromPayloads(this.client.options.loadedDataConverter, payloads);
      return value;
    } catch {
      return undefined;
    }
  }
}

function endOf(event: HistoryEvent): Found {
  if (event.workflowExecutionCompletedEventAttributes) return { what: 'Ended.' };
  if (event.workflowExecutionFailedEventAttributes) return { what: 'The workflow failed.' };
  if (event.workflowExecutionTerminatedEventAttributes) return { what: 'The workflow was terminated.' };
  if (event.workflowExecutionTimedOutEventAttributes) return { what: 'The workflow timed out.' };
  if (event.workflowExecutionCancelRequestedEventAttributes) return { what: 'A cancellation was requested.' };
  return undefined;
}

function sentenceOf(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

function timeOf({ eventTime }: HistoryEvent): string {
  return new Date(eventTime ? tsToMs(eventTime) : 0).toISOString();
}
