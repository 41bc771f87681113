/** One run of `doctor`: what each check found and what to do, and when the run ends because nothing would respond. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockOffset } from '../../../contract/workflows.ts';
import { grpcStatusOf, isUnserved, messageOf, serverMessageOf } from '../../../temporal/client-errors.ts';
import type { Session } from '../session.ts';

/** `TASK_QUEUE_TYPE_WORKFLOW`, `TASK_QUEUE_TYPE_ACTIVITY` */
export const WORKFLOW_TASKS = 1;
export const ACTIVITY_TASKS = 2;

/** `unknown`: cannot be determined from this machine. Does not make doctor fail. */
export type Verdict = 'ok' | 'problem' | 'unknown';

export interface Check {
  check: string;
  verdict: Verdict;
  detail: string;
  advice?: string;
}

/** A check that also read a clock. */
export interface CheckWithClock {
  check: Check;
  clock?: ClockOffset;
}

export function ok(check: string, detail: string): Check {
  return { check, verdict: 'ok', detail };
}

export function problem(check: string, detail: string, advice: string): Check {
  return { check, verdict: 'problem', detail, advice };
}

export function unknown(check: string, detail: string, advice: string): Check {
  return { check, verdict: 'unknown', detail, advice };
}

/** Calls `look` until it resolves with a value. Undefined if it has none within `withinMs`. */
export async function until<T>(
  look: () => Promise<T | undefined>,
  everyMs: number,
  withinMs: number,
): Promise<T | undefined> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined || performance.now() >= endMs) return found;
    await sleep(everyMs);
  }
}

const CLOCKS = 'clocks';
/** Half of the lifetime of a lock. */
const MAX_OFFSET_MS = 30_000;

export interface ClockOffsets {
  /** From the clock of this machine. */
  temporal?: ClockOffset | undefined;
  /** From Temporal's clock. */
  worker?: ClockOffset | undefined;
  /** From the clock of the worker that called it. */
  provider?: ClockOffset | undefined;
}

/** Compares the clocks of this machine, Temporal, a worker and the provider, because deadlines depend on them. */
export function compareClocks({ temporal, worker, provider }: ClockOffsets): Check {
  const pairs = [
    { pair: 'Temporal against this machine', offset: temporal },
    { pair: 'worker against Temporal', offset: worker },
    { pair: 'provider against worker', offset: provider },
  ];
  const detail = pairs.map(({ pair, offset }) => `${pair}: ${offsetText(offset)}`).join(', ');
  if (pairs.some(({ offset = 0 }) => Math.abs(offset) > MAX_OFFSET_MS))
    return problem(
      CLOCKS,
      detail,
      'synchronize the clock that is wrong (NTP): locks and signatures expire by it',
    );
  if (pairs.every(({ offset }) => offset === undefined))
    return unknown(CLOCKS, 'no clock could be read', 'fix the problems above, and run doctor again');
  return ok(CLOCKS, detail);
}

function offsetText(offset: ClockOffset | undefined): string {
  if (offset === undefined) return 'unknown';
  if (Math.abs(offset) < 1_000) return 'in sync';
  return `${Math.round(Math.abs(offset) / 1_000)} s ${offset > 0 ? 'ahead' : 'behind'}`;
}

export const TEMPORAL = 'Temporal';
const CHECK_DATABASE =
  "check its database and the log of Temporal's server; on Temporal Cloud, its status page and the limits of the namespace";

/** Thrown when the checks that follow would only wait. The message says why. */
export class CannotGoOn extends Error {
  override readonly name = 'CannotGoOn';
}

export interface CheckLimits {
  /** The maximum time. */
  ms: number;
  /** Of a check that a worker answers, where a late answer says nothing about Temporal: what to do then. */
  adviceIfLate?: string;
}

export class Checks {
  readonly all: Check[] = [];
  readonly #session: Session;
  readonly #show: (check: Check) => void;

  constructor(session: Session, show: (check: Check) => void) {
    this.#session = session;
    this.#show = show;
  }

  add(...checks: readonly Check[]): void {
    for (const check of checks) {
      this.all.push(check);
      this.#show(check);
    }
  }

  /** Adds what `look` finds: `unknown` if it throws, unless Temporal did not serve it. `advice`: what to do then. */
  async check(
    check: string,
    { advice, ...limits }: CheckLimits & { advice: string },
    look: (session: Session) => Promise<Check>,
  ): Promise<void> {
    const found = await this.run(check, limits, (session) =>
      look(session).catch((error: unknown) => {
        if (isUnserved(error)) throw error;
        return unknown(check, messageOf(error), advice);
      }),
    );
    this.add(found);
  }

  /**
   * Runs `look`, whose calls end in time. Adds a problem and throws `CannotGoOn` if Temporal, or the worker that the check
   * needs, does not respond.
   */
  async run<T>(check: string, limits: CheckLimits, look: (session: Session) => Promise<T>): Promise<T> {
    const begunMs = Date.now();
    try {
      return await this.#session.client.withDeadline(begunMs + limits.ms, () => look(this.#session));
    } catch (error) {
      if (!isUnserved(error)) throw error;
      const seconds = Math.round((Date.now() - begunMs) / 1_000);
      const isLate = grpcStatusOf(error) === 'DEADLINE_EXCEEDED';
      if (isLate && limits.adviceIfLate !== undefined) {
        this.add(problem(check, `no answer within ${seconds} s`, limits.adviceIfLate));
        throw new CannotGoOn('no worker answers');
      }
      const where = check === TEMPORAL ? `${this.#session.address}: it` : TEMPORAL;
      const what = isLate ? `no answer within ${seconds} s` : serverMessageOf(error);
      this.add(problem(check, `${where} answers, but cannot serve a request: ${what}`, CHECK_DATABASE));
      throw new CannotGoOn('Temporal does not serve requests');
    }
  }
}
