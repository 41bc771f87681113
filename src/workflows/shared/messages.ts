/** Registers handlers of messages. Handlers never throw, except to refuse an update with its reason. */
import { type RawValue, rawValueTypeInfo, type UpdateDefinition } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  defaultPayloadConverter,
  defineSignal,
  setHandler,
} from '@temporalio/workflow';
import { NOT_ACCEPTED_NOW } from '../../contract/failures.ts';

/**
 * `handle` gets the first argument, or undefined if there is none or it cannot be decoded. It must not throw. The
 * argument is decoded inside the handler: the SDK would decode it earlier, so that one payload that cannot be decoded
 * would fail every workflow task from then on (H35).
 */
export function onSignal({ name }: { name: string }, handle: (value: unknown) => void): void {
  // The sender chooses the number of arguments; the proxy declares each of them raw.
  const raw = defineSignal<RawValue[]>(name, {
    typeInfo: { inputTypes: new Proxy([], { get: () => rawValueTypeInfo }) },
  });
  setHandler(raw, (value) => handle(decoded(value)));
}

function decoded(raw: RawValue | undefined): unknown {
  try {
    return raw && defaultPayloadConverter.fromPayload(raw.payload);
  } catch {
    return undefined;
  }
}

/** Refuses the update if `problem` returns one. */
export function onUpdate<Run, Result, Arguments extends unknown[]>(
  run: Run,
  update: UpdateDefinition<Result, Arguments>,
  handle: (run: Run, ...args: Arguments) => Result | Promise<Result>,
  problem: (run: Run, ...args: Arguments) => string | undefined,
): void {
  const validator = (...args: Arguments): void => {
    const [argument] = args;
    const { update: named = update.name } = isRecord(argument) ? argument : {};
    if (named !== update.name) throw notAccepted(`it is the argument of ${String(named)}`);
    const found = problem(run, ...args);
    if (found) throw notAccepted(found);
  };
  setHandler(update, (...args: Arguments) => handle(run, ...args), { validator });
}

/** Handlers run in the root scope, so that a cancellation of the workflow would fail each wait in them. */
export function shielded<Arguments extends unknown[], Result>(
  handle: (...args: Arguments) => Promise<Result>,
): (...args: Arguments) => Promise<Result> {
  return (...args) => CancellationScope.nonCancellable(() => handle(...args));
}

/** Runs `work` to its end. A cancellation of the workflow only calls `onCancel`. */
export function runShielded<T>(onCancel: () => void, work: () => Promise<T>): Promise<T> {
  CancellationScope.current().cancelRequested.catch(onCancel);
  return CancellationScope.nonCancellable(work);
}

/** Refuses an update with a reason that a person can read. */
export function notAccepted(problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problem, NOT_ACCEPTED_NOW);
}

/** The problem with `by`, the person who decides. */
export function deciderProblem(message: unknown): string | undefined {
  const by = isRecord(message) ? message['by'] : undefined;
  return typeof by === 'string' && by.trim() !== '' ? undefined : 'by: must name who decides';
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
