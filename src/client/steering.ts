/** What payouts, batches and requests for receiving accounts have in common: waits, shared reads and updates. */
import {
  type Client,
  WorkflowFailedError,
  type WorkflowHandle,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure, type Workflow, type WorkflowResultType } from '@temporalio/common';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Clock } from '../runtime/runtime.ts';
import { grpcStatusOf, isOfEndedRun, serverMessageOf } from '../temporal/client-errors.ts';
import { NoWorkerError } from '../temporal/worker-watch.ts';
import { type ReadSharing, SharedReads, unlimitedReads } from './shared-reads.ts';

export interface StarterOptions {
  client: Client;
  /** Recorded with each start; a worker of another environment refuses it. */
  environment?: string | undefined;
  /** The target currencies that the provider takes. Default: CNY. */
  targetCurrencies?: readonly string[] | undefined;
  /** For waits on Temporal's visibility, and the time of a start. Default: that of this process. */
  clock?: Clock | undefined;
  /** How status reads share workers. Default: only among the callers of this object. */
  reads?: ReadSharing | undefined;
}

export interface WaitOptions {
  timeoutMs: number;
  /** Stops the wait, which then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
}

/** The state of a workflow and, after its end, its result. */
export interface Snapshot<State, Result> {
  state: State;
  result?: Result;
}

export abstract class Steered<Type extends Workflow, Ref, State> {
  protected readonly client: Client;
  protected readonly environment: string | undefined;
  protected readonly targetCurrencies: readonly string[] | undefined;
  protected readonly clock: Clock;
  protected readonly seen: SharedReads<Snapshot<State, WorkflowResultType<Type>>>;
  /** Limits the queries to workers. */
  protected readonly slots: ReadSharing['slots'];

  constructor({
    client,
    environment,
    targetCurrencies,
    clock = PROCESS_RUNTIME.clock,
    reads = unlimitedReads(),
  }: StarterOptions) {
    this.client = client;
    this.environment = environment;
    this.targetCurrencies = targetCurrencies;
    this.clock = clock;
    this.seen = new SharedReads(reads);
    this.slots = reads.slots;
  }

  abstract handle(ref: Ref): WorkflowHandle<Type>;

  protected abstract fetch(handle: WorkflowHandle<Type>): Promise<Snapshot<State, WorkflowResultType<Type>>>;

  /**
   * The state. Concurrent reads share one query. Throws Temporal's `WorkflowNotFoundError`, and `WorkflowFailedError` if the
   * start was bad input.
   */
  async state(ref: Ref): Promise<State> {
    return (await this.read(ref)).state;
  }

  /** Waits for the end, however long it takes. Throws what `state` throws. */
  async result(ref: Ref): Promise<WorkflowResultType<Type>> {
    return this.handle(ref).result();
  }

  /**
   * Resolves at the end of the workflow, however it ended, or after `timeoutMs`. Uses Temporal's long poll, which needs no
   * worker. Throws Temporal's `WorkflowNotFoundError`, and the reason of `signal`.
   */
  async untilEnd(ref: Ref, { timeoutMs, signal }: WaitOptions): Promise<void> {
    signal?.throwIfAborted();
    const handle = this.handle(ref);
    const late = AbortSignal.timeout(timeoutMs);
    const stopped = signal ? AbortSignal.any([late, signal]) : late;
    try {
      await this.client.withAbortSignal(stopped, () => handle.result());
    } catch (error) {
      signal?.throwIfAborted();
      if (!late.aborted && !(error instanceof WorkflowFailedError)) throw error;
    }
    // A shared read may be of the time before the end.
    this.seen.forget(handle.workflowId);
  }

  protected read(ref: Ref): Promise<Snapshot<State, WorkflowResultType<Type>>> {
    const handle = this.handle(ref);
    return this.seen.read(handle.workflowId, () => this.fetch(handle));
  }

  /** Throws `NoWorkerError` if an update would wait for a worker. Then none was sent, and nothing happens later. */
  async requireWorker(ref: Ref): Promise<void> {
    const handle = this.handle(ref);
    const { status } = await handle.describe();
    if (status.name !== 'RUNNING') return;
    await handle.query('state').catch((error: unknown) => {
      if (error instanceof NoWorkerError) throw error;
    });
  }

  /** Discards shared reads afterwards, so that later reads see the effect. */
  protected async steer<T>(ref: Ref, send: (handle: WorkflowHandle<Type>) => Promise<T>): Promise<T> {
    const handle = this.handle(ref);
    try {
      return await retryDroppedUpdate(() => send(handle));
    } finally {
      this.seen.forget(handle.workflowId);
    }
  }

  /**
   * The result of the workflow that Temporal refused an update with `error`, because it has ended; undefined if it cannot be
   * read. Throws `error` if there is another reason, and Temporal's `WorkflowNotFoundError` if there is no such workflow.
   */
  protected async endedResult(ref: Ref, error: unknown): Promise<WorkflowResultType<Type> | undefined> {
    if (!isOfEndedRun(error)) throw error;
    await this.handle(ref).describe();
    const seen = await this.read(ref).catch(() => undefined);
    return seen?.result;
  }
}

/** Adds the result after the end. A running workflow in phase DONE is about to complete. */
export async function withResult<State extends { phase: string }, Result>(
  handle: { result(): Promise<Result> },
  status: { name: string },
  state: State,
): Promise<Snapshot<State, Result>> {
  const ended = status.name === 'COMPLETED' || (status.name === 'RUNNING' && state.phase === 'DONE');
  return ended ? { state, result: await handle.result() } : { state };
}

const MAX_UPDATE_RETRIES = 5;

/**
 * Retries an update that Temporal dropped before any workflow accepted it, so a retry is safe: its workflow task failed
 * (gRPC FAILED_PRECONDITION), or the worker completed the task without the update. The latter is a defect of the SDK's core
 * after a query that ran ahead of the task (H52).
 */
export async function retryDroppedUpdate<T>(send: () => Promise<T>): Promise<T> {
  for (let left = MAX_UPDATE_RETRIES; ; left -= 1) {
    try {
      return await send();
    } catch (error) {
      if (left === 0 || !wasDropped(error)) throw error;
    }
  }
}

function wasDropped(error: unknown): boolean {
  if (error instanceof WorkflowUpdateFailedError)
    return error.cause instanceof ApplicationFailure && error.cause.type === 'UnprocessedUpdate';
  return (
    grpcStatusOf(error) === 'FAILED_PRECONDITION' && /workflow task failure/.test(serverMessageOf(error))
  );
}
