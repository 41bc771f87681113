/** One line of `doctor`: what was looked at, what was found, and what to do. */

/** `unknown`: it could not be told from here; nothing is guessed, and it does not make doctor fail. */
export type Verdict = 'ok' | 'problem' | 'unknown';

export interface Check {
  check: string;
  verdict: Verdict;
  detail: string;
  /** What to do. */
  advice?: string;
}

export function well(check: string, detail: string): Check {
  return { check, verdict: 'ok', detail };
}

export function problem(check: string, detail: string, advice: string): Check {
  return { check, verdict: 'problem', detail, advice };
}

export function unknown(check: string, detail: string, advice: string): Check {
  return { check, verdict: 'unknown', detail, advice };
}

export function isWell({ verdict }: Check): boolean {
  return verdict === 'ok';
}

/** The innermost cause, for that is what says why. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'something unexpected went wrong';
  return error.cause instanceof Error ? messageOf(error.cause) : error.message;
}
