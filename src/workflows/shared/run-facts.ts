/** What a run knows about its own start and history, and the request that it was started with. */
import type { WorkflowDefinitionOptions } from '@temporalio/common';
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  type Workflow,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunFacts } from '../../activities/payout/send-once.ts';
import type { Principal, StartFacts } from '../../activities/shared/execution.ts';
import type { Prepared } from '../../activities/shared/preparation.ts';
import type { Clearance, PayoutSettings } from '../../domain/payout-record.ts';
import { flagged, unflagged } from './attention.ts';

/** Far below Temporal's limits, so that each workflow task stays fast. A round of a waiting payout takes about 13 events. */
const MAX_EVENTS = 300;

/** Whether the start does not prove that the id is new (a doubtful start). Only our starters prove it. */
export function isDoubtfulStart(): boolean {
  return workflowInfo().memo?.['rejectDuplicate'] !== true;
}

/** Tells whether an earlier run, or a run that Temporal lost in a restore, may have sent. */
export function runFacts(startedAtMs: number, cleared?: Clearance): RunFacts {
  const { firstExecutionRunId: firstRunId } = workflowInfo();
  return { firstRunId, isDoubtful: isDoubtfulStart(), cleared, startedAtMs };
}

/** The end of the confirmation window of the last send of another run. Unix milliseconds. */
export function windowAfterOthers(
  { lastSendByMs = 0 }: { lastSendByMs?: number | undefined },
  { confirmationWindowMs }: Pick<PayoutSettings, 'confirmationWindowMs'>,
): number {
  return lastSendByMs + confirmationWindowMs;
}

/** The id, the environment that the starter meant, and who started it. */
export function startFacts(): StartFacts {
  const { workflowId, memo } = workflowInfo();
  return { workflowId, environment: memo?.['environment'], startedBy: memo?.['startedBy'] };
}

export function isHistoryLong(maxEvents = MAX_EVENTS, maxBytes = Number.POSITIVE_INFINITY): boolean {
  const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
  return historyLength >= maxEvents || historySize >= maxBytes || continueAsNewSuggested;
}

/**
 * Whether this run is pinned to another version than the one that Temporal would choose now: after a deployment, a ramp or
 * a rollback. Temporal records it in the history, at each workflow task.
 */
export function targetVersionChanged(): boolean {
  return workflowInfo().targetWorkerDeploymentVersionChanged;
}

/**
 * The options of a workflow that stays on the version that began its run. Temporal refuses a behavior from workers without
 * versioning, whose deployment has no name.
 */
export function pinnedIfVersioned(): WorkflowDefinitionOptions {
  return workflowInfo().currentDeploymentVersion?.deploymentName ? { versioningBehavior: 'PINNED' } : {};
}

/** Continues as new with `args` if the history is long. Call it only while no activity is running. */
export async function continueAsNewWhenLong<F extends Workflow>(args: () => Parameters<F>): Promise<void> {
  if (!isHistoryLong()) return;
  await condition(allHandlersFinished);
  await continueAsNew<F>(...args());
}

/** Fails the workflow task, so that the workflow waits for workers of the version that wrote this. */
export function newerVersion(what: string): Error {
  return new Error(`only a newer version knows ${what}`);
}

/** A run that was started with a request, which its first activity checks. Its record holds attention flags. */
export abstract class RequestRun<
  Request extends { app: string; openId?: string | undefined },
  Code extends string,
> {
  abstract readonly record: { attention: { code: Code; message: string }[] };
  /** Undefined before the request has been checked. Handlers run before that and must not throw. */
  prepared: Prepared<Request> | undefined;

  flag(code: Code, message: string): void {
    this.record.attention = flagged(this.record.attention, code, message);
  }

  unflag(...codes: Code[]): void {
    this.record.attention = unflagged(this.record.attention, ...codes);
  }

  get request(): Request {
    return this.checked.request;
  }

  get settings(): PayoutSettings {
    return this.checked.settings;
  }

  /** Throws if the settings need more than this version knows: its workers must not continue (H191). */
  assertKnown(): void {
    const [unknown] = this.settings.requires ?? [];
    if (unknown !== undefined) throw newerVersion(unknown);
  }

  get principal(): Principal {
    return { environment: this.settings.environment, app: this.request.app, openId: this.request.openId };
  }

  private get checked(): Prepared<Request> {
    if (!this.prepared) throw new Error('the request has not been checked yet');
    return this.prepared;
  }
}
