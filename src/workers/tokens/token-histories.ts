/**
 * What the histories of a user's renewal prove about its refresh token. Only one run is open at a time, but a
 * terminated run is followed by one that starts empty, and a Workflow Reset makes a run that has forgotten every
 * renewal since. A rotated refresh token must not be sent again: a provider may then revoke the newer ones too.
 */
import { ApplicationFailure } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type { temporal } from '@temporalio/proto';
import { z } from 'zod';
import type { WorkflowRun } from '../../activities/tokens/recall-grant.ts';
import { authorizedSignal } from '../../contract/token-messages.ts';
import type { Grant } from '../../domain/token-record.ts';
import { isGone } from '../../temporal/client-errors.ts';
import { listRunPage } from '../../temporal/visibility.ts';

type Event = temporal.api.history.v1.IHistoryEvent;
type Payloads = temporal.api.common.v1.IPayloads | null | undefined;
type Timed = Grant & { obtainedAtMs: number };

const GIVES_TOKENS: readonly unknown[] = ['refreshUserToken', 'recallGrant'];
const RECALLS = 'recallGrant';
const RUNS_A_PAGE = 100;

const grantSchema = z.object({
  access: z.string(),
  fingerprint: z.string(),
  livesMs: z.number(),
  refresh: z.string().optional(),
  refreshLivesMs: z.number().optional(),
  obtainedAtMs: z.number().optional(),
});
const carriedSchema = z.object({ held: grantSchema });

export class TokenHistories {
  private readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  /**
   * The newest grant that any other run of this renewal obtained. Goes back, latest end first, until a run that has
   * itself looked back and was not made by a reset: it knew everything before it.
   */
  async newestElsewhere(own: WorkflowRun): Promise<Grant | undefined> {
    return newest(await this.elsewhere(own));
  }

  /**
   * The grant to use instead of the one with this refresh token. Undefined unless this run was made by a reset: in any
   * other, `newestElsewhere` was asked when it began.
   */
  async newerThan(own: WorkflowRun, sealedRefresh: string): Promise<Grant | undefined> {
    if (!(await this.isReset(own))) return undefined;
    const here = await this.grantsIn((await this.eventsOf(own)) ?? []);
    const latest = newest([...here, ...(await this.elsewhere(own))]);
    return latest && latest.refresh !== sealedRefresh ? latest : undefined;
  }

  private async elsewhere(own: WorkflowRun): Promise<Timed[]> {
    const found: Timed[] = [];
    for (const runId of await this.othersLatestFirst(own)) {
      const events = await this.eventsOf({ workflowId: own.workflowId, runId });
      if (!events) continue;
      found.push(...(await this.grantsIn(events)));
      if (!isMadeByReset(events, runId) && hasRecalled(events)) break;
    }
    return found;
  }

  /** A list that shows this run most likely shows those before it; it does not promise that. */
  private async othersLatestFirst({ workflowId, runId: ownRunId }: WorkflowRun): Promise<string[]> {
    const quote = workflowId.includes("'") ? '"' : "'";
    const query = `WorkflowId = ${quote}${workflowId}${quote}`;
    const runs: { runId: string; closedMs: number }[] = [];
    let next: Uint8Array | undefined;
    do {
      const page = await listRunPage(this.client, query, RUNS_A_PAGE, next);
      for (const { runId, closedMs = Number.POSITIVE_INFINITY } of page.runs) runs.push({ runId, closedMs });
      next = page.next;
    } while (next);
    if (!runs.some(({ runId }) => runId === ownRunId))
      throw ApplicationFailure.create({
        type: 'VISIBILITY_LAGS',
        message: 'visibility does not show this run yet, so earlier ones may be missing too',
      });
    return runs
      .filter(({ runId }) => runId !== ownRunId)
      .sort((one, two) => (one.closedMs === two.closedMs ? 0 : two.closedMs - one.closedMs))
      .map(({ runId }) => runId);
  }

  /** A Workflow Reset made this run. */
  async isReset({ workflowId, runId }: WorkflowRun): Promise<boolean> {
    const { history } = await this.client.workflowService.getWorkflowExecutionHistory({
      namespace: this.client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: 1,
    });
    return isMadeByReset(history?.events ?? [], runId);
  }

  /** Undefined: deleted by retention. */
  private async eventsOf({ workflowId, runId }: WorkflowRun): Promise<Event[] | undefined> {
    try {
      return (await this.client.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  private async grantsIn(events: readonly Event[]): Promise<Timed[]> {
    const scheduledAtMs = new Map<string, number>();
    const found: Timed[] = [];
    for (const event of events) {
      const atMs = event.eventTime ? tsToMs(event.eventTime) : 0;
      const {
        activityTaskScheduledEventAttributes: scheduled,
        activityTaskCompletedEventAttributes: completed,
      } = event;
      if (GIVES_TOKENS.includes(scheduled?.activityType?.name)) scheduledAtMs.set(`${event.eventId}`, atMs);
      const askedAtMs = scheduledAtMs.get(`${completed?.scheduledEventId}`);
      if (completed && askedAtMs !== undefined)
        found.push(...timed(grantSchema, await this.first(completed.result), askedAtMs));
      const signal = event.workflowExecutionSignaledEventAttributes;
      if (signal?.signalName === authorizedSignal.name)
        found.push(...timed(grantSchema, await this.first(signal.input), atMs));
      const start = event.workflowExecutionStartedEventAttributes;
      const [, carried] = start ? await this.decoded(start.input) : [];
      const parsed = carriedSchema.safeParse(carried);
      if (parsed.success) found.push(...timed(grantSchema, parsed.data.held, atMs));
    }
    return found;
  }

  private async first(payloads: Payloads): Promise<unknown> {
    return (await this.decoded(payloads))[0];
  }

  private async decoded(payloads: Payloads): Promise<unknown[]> {
    return (await decodeArrayFromPayloads(this.client.options.loadedDataConverter, payloads?.payloads)) ?? [];
  }
}

function timed(schema: typeof grantSchema, value: unknown, atMs: number): Timed[] {
  const parsed = schema.safeParse(value);
  return parsed.success ? [{ ...parsed.data, obtainedAtMs: parsed.data.obtainedAtMs ?? atMs }] : [];
}

/** A signal that a reset applied again has a later time than the first time: the earliest counts. */
function newest(grants: readonly Timed[]): Timed | undefined {
  const earliest = new Map<string, Timed>();
  for (const grant of grants) {
    const known = earliest.get(grant.fingerprint);
    if (!known || grant.obtainedAtMs < known.obtainedAtMs) earliest.set(grant.fingerprint, grant);
  }
  return [...earliest.values()].reduce<Timed | undefined>(
    (latest, grant) => (latest && latest.obtainedAtMs >= grant.obtainedAtMs ? latest : grant),
    undefined,
  );
}

/** A reset copies the first event, which goes on naming the run that it was written for. */
function isMadeByReset([first]: readonly Event[], runId: string): boolean {
  return first?.workflowExecutionStartedEventAttributes?.originalExecutionRunId !== runId;
}

function hasRecalled(events: readonly Event[]): boolean {
  const scheduled = events
    .filter(({ activityTaskScheduledEventAttributes: one }) => one?.activityType?.name === RECALLS)
    .map(({ eventId }) => `${eventId}`);
  return events.some(({ activityTaskCompletedEventAttributes: one }) =>
    scheduled.includes(`${one?.scheduledEventId}`),
  );
}
