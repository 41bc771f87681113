/** The checks of one run of `doctor`: shows each as it finishes, and ends the run when Temporal serves no requests. */
import { grpcStatusOf, isUnserved, serverMessageOf } from '../../../temporal/client-errors.ts';
import type { Session } from '../session.ts';
import { type Check, problem } from './check.ts';

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
  private readonly session: Session;
  private readonly show: (check: Check) => void;

  constructor(session: Session, show: (check: Check) => void) {
    this.session = session;
    this.show = show;
  }

  add(...checks: readonly Check[]): void {
    for (const check of checks) {
      this.all.push(check);
      this.show(check);
    }
  }

  /**
   * Runs `look` with a session whose calls end in time. Adds a problem and throws `CannotGoOn` if Temporal, or the worker that
   * the check needs, does not answer.
   */
  async run<T>(check: string, limits: CheckLimits, look: (session: Session) => Promise<T>): Promise<T> {
    const begunMs = Date.now();
    const { client } = this.session;
    const withDeadline = <R>(call: () => Promise<R>) => client.withDeadline(begunMs + limits.ms, call);
    try {
      return await look({ ...this.session, withDeadline });
    } catch (error) {
      if (!isUnserved(error)) throw error;
      const seconds = Math.round((Date.now() - begunMs) / 1_000);
      const isLate = grpcStatusOf(error) === 'DEADLINE_EXCEEDED';
      if (isLate && limits.adviceIfLate !== undefined) {
        this.add(problem(check, `no answer within ${seconds} s`, limits.adviceIfLate));
        throw new CannotGoOn('no worker answers');
      }
      const where = check === TEMPORAL ? `${this.session.address}: it` : TEMPORAL;
      const what = isLate ? `no answer within ${seconds} s` : serverMessageOf(error);
      this.add(problem(check, `${where} answers, but cannot serve a request: ${what}`, CHECK_DATABASE));
      throw new CannotGoOn('Temporal does not serve requests');
    }
  }
}
