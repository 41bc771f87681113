/**
 * What a program can act on: each error code with the problem that the API server returns for it, and the exit code of the
 * CLI. `docs/reference.md` is generated from this table.
 */
import type { Explained } from './attention-codes.ts';
import type { ProblemKind } from './problems.ts';

/** Of the CLI. Stable: scripts rely on them. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  badInput: 2,
  notFound: 3,
  refused: 4,
  notPaid: 5,
  doctorFoundProblems: 6,
} as const;

interface ErrorRow extends Explained {
  exit: keyof typeof EXIT;
  /** Absent: only the CLI has this code. */
  problem?: ProblemKind;
  /** The same call may succeed later. */
  isRetryable?: true;
}

const ROWS = {
  INVALID_PAYOUT_REQUEST: {
    exit: 'badInput',
    problem: 'invalid-request',
    meaning: '`fields` has every invalid field. Nothing was started.',
    action: 'Correct the fields, and start again under the same ID.',
  },
  CONFLICT: {
    exit: 'refused',
    problem: 'id-conflict',
    meaning: 'The ID belongs to another body, other rows or another caller. Nothing was changed.',
    action: 'Send the first body again. A new ID makes another payment.',
  },
  NOT_ACCEPTED_NOW: {
    exit: 'refused',
    problem: 'not-accepted-now',
    meaning: "The current state doesn't allow this. The message says why.",
    action: 'Read the state, then decide again.',
  },
  NOT_FOUND: {
    exit: 'notFound',
    problem: 'not-found',
    meaning: 'There is no such payout, batch, request, account or token.',
    action: 'Check the ID and the application.',
  },
  NO_USABLE_ANSWER: {
    exit: 'unexpected',
    problem: 'provider-unavailable',
    isRetryable: true,
    meaning:
      'The provider gave no usable response to a read. In the client library, the innermost `cause` has the [type](#failures-of-activities).',
    action: 'Repeat the read later.',
  },
  STOPPED: {
    exit: 'unexpected',
    problem: 'provider-unavailable',
    isRetryable: true,
    meaning:
      'The workflow was stopped; reconciliation restarts payouts. For a read from the provider: no worker responded in time.',
    action: 'Read again later.',
  },
  TOO_MANY_READS: {
    exit: 'unexpected',
    problem: 'too-many-waiting',
    isRetryable: true,
    meaning: 'Too many status reads are waiting for a worker. Nothing was queried.',
    action: 'Read again later. Wait with `result`.',
  },
  TEMPORAL_UNAVAILABLE: {
    exit: 'unexpected',
    problem: 'temporal-unavailable',
    isRetryable: true,
    meaning: "Temporal didn't respond, or refused the call, which may have been executed.",
    action: 'Run `payouts doctor`, then repeat the call, which is always safe.',
  },
  NO_WORKER: {
    exit: 'unexpected',
    problem: 'no-worker',
    isRetryable: true,
    meaning: 'No worker is running. The message says when one was last seen. Nothing was changed.',
    action: 'Start a worker. If one runs, read its log: it may be overloaded.',
  },
  CANNOT_DECRYPT: {
    exit: 'unexpected',
    problem: 'unexpected-error',
    meaning: "This machine lacks the workers' encryption key. Nothing was sent.",
    action: "Set `PAYOUTS_ENCRYPTION_KEYS` to the workers' keys.",
  },
  USAGE: {
    exit: 'badInput',
    meaning: 'The command line or the file is invalid.',
    action: 'Correct it.',
  },
  NOT_CONFIRMED: {
    exit: 'refused',
    meaning: "The change in production wasn't confirmed. Nothing was done.",
    action: 'Confirm it, or add `--yes`.',
  },
  NOT_TRIED: {
    exit: 'unexpected',
    meaning: "The row wasn't started, because an earlier row failed.",
    action: 'Run the command again: started rows are joined.',
  },
  UNEXPECTED: { exit: 'unexpected', meaning: 'Anything else.', action: 'Read the message.' },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ROWS;
/** `code` of a `PayoutsError`. Stable: callers may branch on them. */
export type PayoutsErrorCode = {
  [Code in ErrorCode]: (typeof ROWS)[Code] extends { problem: ProblemKind } ? Code : never;
}[ErrorCode];

export const ERRORS: Readonly<
  Record<ErrorCode, ErrorRow> & Record<PayoutsErrorCode, ErrorRow & { problem: ProblemKind }>
> = ROWS;
