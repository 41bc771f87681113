/** What a command shows while it waits: one line on standard error, if that is a terminal. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import type { PayoutRef } from '../../client/payouts.ts';
import { changeDetector } from '../../temporal/queries.ts';
import { NoWorkerError } from '../../temporal/worker-watch.ts';
import type { Session } from './session.ts';

const ERASE_LINE = '\r\u001b[2K';
const INTERVAL_MS = 1_000;
const DEFAULT_COLUMNS = 80;

export interface Progress<T> {
  show(value: T): void;
  end(): void;
}

export function showProgress<T>(line: (value: T) => string): Progress<T> {
  const { stderr } = process;
  if (!stderr.isTTY) return { show: () => undefined, end: () => undefined };
  return {
    show: (value) => void stderr.write(`${ERASE_LINE}${line(value)}`),
    end: () => void stderr.write(ERASE_LINE),
  };
}

/** Waits for `end`, and meanwhile shows what the payout does. */
export async function untilEndOf<T>(
  { payouts, withDeadline, whileWorkerRuns }: Session,
  ref: PayoutRef,
  end: Promise<T>,
): Promise<T> {
  sayIfNoWorker(whileWorkerRuns(() => end));
  const stopped = new AbortController();
  let seen = '';
  const follow = async () => {
    for await (const { phase, sentence } of statesOf(payouts, ref, withDeadline, stopped.signal))
      seen = `${phase}: ${sentence}`;
  };
  // A query may fail, for example without a worker. The wait needs none.
  if (process.stderr.isTTY) follow().catch(() => undefined);
  return showWhile(() => seen, end).finally(() => stopped.abort());
}

/** Waits for all of `ends`, and meanwhile shows how many have come. */
export async function untilEnds<T>({ whileWorkerRuns }: Session, ends: readonly Promise<T>[]): Promise<T[]> {
  let ended = 0;
  const all = Promise.all(ends.map((end) => end.finally(() => (ended += 1))));
  sayIfNoWorker(whileWorkerRuns(() => all));
  return showWhile(() => `${ended} of ${ends.length} payouts finished`, all);
}

/** The wait goes on: a worker may start again. */
function sayIfNoWorker(end: Promise<unknown>): void {
  end.catch((error: unknown) => {
    if (error instanceof NoWorkerError) process.stderr.write(`${error.message}: waiting for one\n`);
  });
}

/** Adds the time since the start to `text`. */
async function showWhile<T>(text: () => string, end: Promise<T>): Promise<T> {
  const startedMs = Date.now();
  const progress = showProgress((seconds: number) => {
    const time = `(${seconds} s)`;
    const room = (process.stderr.columns ?? DEFAULT_COLUMNS) - time.length - 2;
    return `${text().slice(0, room)} ${time}`;
  });
  const timer = setInterval(() => progress.show(Math.round((Date.now() - startedMs) / 1_000)), INTERVAL_MS);
  try {
    return await end;
  } finally {
    clearInterval(timer);
    progress.end();
  }
}

/** The state of a payout or a batch now and after each change, up to its end. */
export async function* statesOf<Ref, State extends { phase: string }>(
  workflows: { handle(ref: Ref): Pick<WorkflowHandle, 'describe'>; state(ref: Ref): Promise<State> },
  ref: Ref,
  withDeadline: Session['withDeadline'],
  signal?: AbortSignal,
): AsyncGenerator<State> {
  const hasChanged = changeDetector(workflows.handle(ref));
  for (; ; await sleep(INTERVAL_MS, undefined, { ...(signal && { signal }) })) {
    if (!(await withDeadline(hasChanged))) continue;
    const state = await withDeadline(() => workflows.state(ref));
    yield state;
    if (state.phase === 'DONE') return;
  }
}
