/** One run of `doctor`: what each check found and what to do, and when the run ends because nothing would respond. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockOffset } from '../../../contract/workflows.ts';
import { grpcStatusOf, isUnserved, messageOf, serverMessageOf } from '../../../temporal/client-errors.ts';
import type { Session } from '../session.ts';

/** `TASK_QUEUE_TYPE_ACTIVITY` */
export const ACTIVITY_TASKS = 2;

/** `unknown`: cannot be determined from this machine. Does not make doctor fail. */
export type Verdict = 'ok' | 'problem' | 'unknown';

export interface Finding {
  verdict: Verdict;
  detail: string;
  advice?: string;
  /** Why no later check would get a response. */
  blocks?: string | undefined;
  /** The offset of a clock that the check also read. */
  clock?: ClockOffset | undefined;
}

export function ok(detail: string): Finding {
  return { verdict: 'ok', detail };
}

export function problem(detail: string, advice: string, blocks?: string): Finding {
  return { verdict: 'problem', detail, advice, blocks };
}

export function unknown(detail: string, advice: string): Finding {
  return { verdict: 'unknown', detail, advice };
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

/** Half of the lifetime of a lock. */
const MAX_OFFSET_MS = 30_000;
export const AGAIN = 'fix the problems above, and run doctor again';

/** Compares clocks, because deadlines depend on them. Each offset is by what the key says. */
export function compareClocks(offsets: Readonly<Record<string, ClockOffset | undefined>>): Finding {
  const detail = Object.entries(offsets).map(([pair, offset]) => `${pair}: ${offsetText(offset)}`);
  const known = Object.values(offsets).filter((offset) => offset !== undefined);
  if (known.some((offset) => Math.abs(offset) > MAX_OFFSET_MS))
    return problem(
      detail.join(', '),
      'synchronize the clock that is wrong (NTP): locks and signatures expire by it',
    );
  return known.length === 0 ? unknown('no clock could be read', AGAIN) : ok(detail.join(', '));
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

export interface CheckOptions {
  /** The maximum time. Milliseconds. */
  ms: number;
  /** What to do if the check fails unexpectedly. Its verdict is then `unknown`. */
  advice: string;
  /** For a check that a worker responds to, where a late response says nothing about Temporal: what to do then. */
  adviceIfLate?: string;
}

export class Checks {
  readonly all: { check: string; found: Finding }[] = [];
  readonly #session: Session;
  readonly #show: (check: string, found: Finding) => void;

  constructor(session: Session, show: (check: string, found: Finding) => void) {
    this.#session = session;
    this.#show = show;
  }

  add(check: string, found: Finding): void {
    this.all.push({ check, found });
    this.#show(check, found);
    if (found.blocks !== undefined) throw new CannotGoOn(found.blocks);
  }

  /**
   * Adds what `look` finds. Throws `CannotGoOn` if it blocks later checks, and if Temporal, or the worker that the check
   * needs, does not respond.
   */
  async run<F extends Finding>(
    check: string,
    { ms, advice, adviceIfLate }: CheckOptions,
    look: (session: Session) => Promise<F>,
  ): Promise<F | Finding> {
    const begunMs = Date.now();
    const failed = (error: unknown): Finding => {
      if (!isUnserved(error)) return unknown(messageOf(error), advice);
      const seconds = Math.round((Date.now() - begunMs) / 1_000);
      const isLate = grpcStatusOf(error) === 'DEADLINE_EXCEEDED';
      const late = `no response within ${seconds} s`;
      if (isLate && adviceIfLate !== undefined) return problem(late, adviceIfLate, 'no worker responds');
      const where = check === TEMPORAL ? `${this.#session.address}: it` : TEMPORAL;
      const what = isLate ? late : serverMessageOf(error);
      const detail = `${where} responds, but cannot serve a request: ${what}`;
      return problem(detail, CHECK_DATABASE, 'Temporal does not serve requests');
    };
    const { client } = this.#session;
    const found = await client.withDeadline(begunMs + ms, () => look(this.#session)).catch(failed);
    this.add(check, found);
    return found;
  }
}
