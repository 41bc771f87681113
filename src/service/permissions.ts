/** Whether a caller may do what it asks for: its permissions, applications, scope and largest amount. */
import { WorkflowNotFoundError } from '@temporalio/client';
import { type CheckedBatch, inSlices } from '../client/checked-batch.ts';
import { ConflictError } from '../client/errors.ts';
import type { PayoutStart } from '../client/payouts.ts';
import type { Caller, Verb } from '../config/callers.ts';
import { rowName } from '../contract/failures.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import {
  amountRefusal,
  isScoped,
  isStarter,
  mayList,
  type Refusal,
  type ScopedIds,
  scopeRefusal,
  starterName,
  usesAny,
} from '../domain/permissions.ts';
import { Problem } from './problem.ts';
import type { BatchId, DecisionVerb } from './requests.ts';

export function may({ verbs }: Caller, verb: Verb): boolean {
  return verbs.includes(verb);
}

export function requireVerb(caller: Caller, verb: Verb): void {
  if (!may(caller, verb))
    throw new Problem(
      'verb-not-allowed',
      `this key lacks the permission ${verb}: use another key, or add it to verbs in PAYOUTS_API_KEYS_FILE`,
    );
}

export function requireApplication({ applications }: Caller, app: string): void {
  if (applications !== 'any' && !applications.includes(app))
    throw new Problem(
      'application-not-allowed',
      'this key does not include that application: use another key, or correct app',
    );
}

/** Undefined: every application. */
export function applicationsWithin({ applications }: Caller): string[] | undefined {
  return applications === 'any' ? undefined : [...applications];
}

/**
 * Requires that the key's lists contain the ids that `named` has a key for, and that those of the caller begin as the key
 * says. `prefix` identifies the request, such as `row 17: `.
 */
export function requireScope(caller: Caller, named: ScopedIds, prefix = ''): void {
  throwIfRefused(scopeRefusal(caller, named), prefix);
}

export function requirePayoutScope(caller: Caller, request: CheckedPayoutRequest, prefix = ''): void {
  requireScope(caller, idsOf(request), prefix);
}

type PayoutIds = Pick<ScopedIds, 'clientId' | 'payerId' | 'openId'> & { partnerOrderId: string };

/** A row of a list that lacks an id is outside of a limited scope. */
export function isPayoutWithinScope(caller: Caller, payout: PayoutIds): boolean {
  return isWithinScope(caller, idsOf(payout));
}

/** Names the ids that the payout lacks, too. */
function idsOf({ clientId, payerId, openId, partnerOrderId }: PayoutIds): ScopedIds {
  return { clientId, payerId, openId, partnerOrderId };
}

/** Those of the rows that the caller may see, even one who can't list. */
export function visibleRows<Row extends PayoutIds>(caller: Caller, rows: readonly Row[]): Row[] {
  return rows.filter((row) => isPayoutWithinScope(caller, row));
}

/** Of a row of a list, too: Temporal's visibility may not tell upper from lower case. */
export function isWithinScope(caller: Caller, named: ScopedIds): boolean {
  return scopeRefusal(caller, named) === undefined;
}

/** A receiving account belongs to a payer, not to a client. */
export function requireOpeningScope(
  caller: Caller,
  { payerId, openId, requestId }: { payerId: string; openId?: string | undefined; requestId: string },
): void {
  // Without payers and a prefix, nothing says which requests are the key's (H365).
  if (usesAny('payerIds', caller) && caller.idPrefix === undefined)
    throw new Problem('outside-scope', 'this key names no payerIds, so it has no receiving accounts');
  requireScope(caller, { payerId, openId, requestId });
}

/** Throws what an unknown id throws if `require` refuses the scope: a key learns nothing about what others have. */
export function orAbsent(require: () => void): void {
  try {
    require();
  } catch (error) {
    if (error instanceof Problem && error.kind === 'outside-scope')
      throw new WorkflowNotFoundError('outside the scope of the key', '', undefined);
    throw error;
  }
}

/**
 * What `read` returns of a start. One that is no valid request has no scope: for a limited key, it looks absent, too.
 */
export async function startWithin<T>(caller: Caller, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (isScoped(caller) && error instanceof ConflictError)
      throw new WorkflowNotFoundError('outside the scope of the key', '', undefined);
    throw error;
  }
}

/** The scope and the largest amount of the key. `prefix` identifies the request, such as `row 17: `. */
export function requirePayout(caller: Caller, request: CheckedPayoutRequest, prefix = ''): void {
  requirePayoutScope(caller, request, prefix);
  throwIfRefused(amountRefusal(caller, request.instructedAmount), prefix);
}

/** Throws a 403 for the first row that the key does not include. */
export async function requireRows(caller: Caller, { rows, lines }: CheckedBatch): Promise<void> {
  let row = 0;
  for await (const request of inSlices(rows)) {
    requirePayout(caller, request, `${rowName(row, lines)}: `);
    row += 1;
  }
}

/** The scope for every decision; for those that can make money move, also the caller's own limit, and another caller. */
export function requireAuthority(
  caller: Caller,
  verb: DecisionVerb,
  { request, startedBy }: PayoutStart,
): void {
  const movesMoney = verb === 'approve' || verb === 'resolve';
  orAbsent(() => requirePayoutScope(caller, request));
  if (movesMoney) requirePayout(caller, request);
  if (movesMoney && isStarter(caller, startedBy))
    throw new Problem('own-payout', `the caller who started a payout cannot ${verb} it`);
}

function throwIfRefused(refusal: Refusal | undefined, prefix: string): void {
  if (refusal) throw new Problem(refusal.kind, `${prefix}this key ${refusal.message}`);
}

export function requirePermission(caller: Caller, verb: Verb, app: string): void {
  requireVerb(caller, verb);
  requireApplication(caller, app);
}

/** Limits of a list. Without `apps`: to none, or to `app`, which the caller may use. */
export function listedWithin(
  caller: Caller,
  app: string | undefined,
): { apps: string[] | undefined; idPrefix: string | undefined } {
  requireVerb(caller, 'read');
  if (app !== undefined) requireApplication(caller, app);
  if (!mayList(caller))
    throw new Problem(
      'outside-scope',
      'a key that is limited to clients, payers or users cannot list without idPrefix',
    );
  const { idPrefix } = caller;
  return { apps: app === undefined ? applicationsWithin(caller) : undefined, idPrefix };
}

/** Rows may belong to any client, and the state does not name them; what has the prefix of a caller is its own. */
export async function requireOwnBatch(
  caller: Caller,
  { batchId }: BatchId,
  startedBy: () => Promise<string | undefined>,
  isEnough = mayList(caller),
): Promise<void> {
  orAbsent(() => requireScope(caller, { batchId }));
  if (!isEnough && (await startedBy()) !== starterName(caller))
    throw new WorkflowNotFoundError('another caller started the batch', '', undefined);
}
