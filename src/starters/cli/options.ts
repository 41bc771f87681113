/** Validates options. Loads neither Temporal's client nor schemas, so that invalid input fails fast. */

import { DURATION_RULE, durationMs } from '../../config/durations.ts';
import { OUTCOMES, PHASES, TOLERANCE, TOLERANCE_RULE } from '../../contract/codes.ts';
import { APP_NAME, OWN_ID, OWN_ID_RULE } from '../../contract/ids.ts';
import type { BatchFilter, PayoutFilter } from '../../contract/lists.ts';
import type { ReceivingAccountResolution, Resolution } from '../../contract/workflows.ts';
import { MAX_REASON_LENGTH } from '../../domain/rate-limit.ts';
import { dayBounds } from '../../domain/reconciliation.ts';
import { UsageError } from './answer.ts';

export interface ListOptions extends RangeOptions {
  phase?: string | undefined;
  outcome?: string | undefined;
  attention?: boolean | undefined;
  clientId?: string | undefined;
}

/** Options of every list. */
export interface RangeOptions extends PageOptions {
  app?: string | undefined;
  createdFrom?: string | undefined;
  createdTo?: string | undefined;
}

export interface PageOptions {
  limit: string;
  /** True: the first page. */
  cursor?: string | true | undefined;
}

/** Which rows of a list to show. */
export interface Page {
  limit: number;
  cursor: string | undefined;
  /** The answer in JSON has the cursor of the next page. */
  isPage: boolean;
}

export interface RateLimitOptions {
  /** An integer, or `default`. */
  callsPerSecond?: string | undefined;
  by?: string | undefined;
}

export interface SettingsOptions {
  app?: string | undefined;
  appId?: string | undefined;
  first?: true;
  /** A file, or `none`. */
  approvals?: string | undefined;
  /** A time, `now` or `never`. */
  recoveredAt?: string | undefined;
  by?: string | undefined;
  reason?: string | undefined;
}

/** Undefined parts stay as they are. */
export interface CheckedSettings {
  /** A file; null: no approvals. */
  approvals: string | null | undefined;
  /** ISO 8601, or `now`; null: never. */
  recoveredAt: string | null | undefined;
  by: string;
  reason: string;
}

export interface RateChange {
  /** Null: the workers' configuration. */
  callsPerSecond: number | null;
  by: string;
}

export interface ResolveOptions {
  by: string;
  created?: string | undefined;
  notCreated?: string | undefined;
  sends?: string | undefined;
  /** Of a payout. */
  tradeOrderId?: string | undefined;
  /** Of a payout. */
  reviewedOrderId?: string[] | undefined;
  /** Of a receiving account. */
  candidate?: string[] | undefined;
}

export function checkedApp(app: string): string {
  if (!APP_NAME.test(app))
    throw new UsageError('--app must be 1 to 32 lowercase letters, digits and hyphens');
  return app;
}

/** A name in the keys file, or that of Nexus calls to an application. */
export function checkedCaller(name: string): string {
  if (!APP_NAME.test(name.replace(/^nexus:/, '')))
    throw new UsageError('the caller must be 1 to 32 lowercase letters, digits and hyphens, or nexus:APP');
  return name;
}

/** A `partnerOrderId` or `requestId`. */
export function checkedId(id: string): string {
  if (!OWN_ID.test(id)) throw new UsageError(`the id ${OWN_ID_RULE}`);
  return id;
}

export function checkedLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit must be an integer of at least 1');
  return limit;
}

export function checkedPage({ limit, cursor }: PageOptions): Page {
  return {
    limit: checkedLimit(limit),
    cursor: typeof cursor === 'string' ? cursor : undefined,
    isPage: cursor !== undefined,
  };
}

/** A timer of Node has 31 bits of milliseconds. */
const MAX_TIMEOUT_MS = 24 * 86_400_000;

/** Milliseconds. */
export function checkedTimeout({ wait, timeout }: { wait?: true; timeout?: string }): number | undefined {
  if (timeout === undefined) return undefined;
  if (!wait) throw new UsageError('--timeout requires --wait');
  const ms = durationMs(timeout);
  if (ms === undefined) throw new UsageError(`--timeout ${DURATION_RULE}`);
  if (ms > MAX_TIMEOUT_MS) throw new UsageError('--timeout must be at most 24d');
  return ms;
}

export function checkedFilter({ phase, outcome, attention, clientId, ...range }: ListOptions): PayoutFilter {
  return {
    phase: oneOf('--phase', phase, PHASES),
    outcome: oneOf('--outcome', outcome, OUTCOMES),
    attention,
    clientId,
    ...checkedRange(range),
  };
}

export function checkedRange({ app, createdFrom, createdTo }: RangeOptions): BatchFilter {
  return {
    app: app === undefined ? undefined : checkedApp(app),
    createdFrom: checkedTime('--created-from', createdFrom),
    createdTo: checkedTime('--created-to', createdTo),
  };
}

const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;

/** A day starts at midnight (UTC). */
export function checkedTime(option: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!TIME.test(text) || Number.isNaN(Date.parse(text)))
    throw new UsageError(
      `${option} must be a time such as 2026-01-31T12:00:00Z, or a day such as 2026-01-31`,
    );
  return new Date(text).toISOString();
}

/** Default: today (UTC). */
export function checkedDay(day = new Date().toISOString().slice(0, 10)): string {
  if (!dayBounds(day)) throw new UsageError('--day must be a date such as 2026-01-31');
  return day;
}

/** Undefined if the rate is only read. */
export function checkedRate({ callsPerSecond, by }: RateLimitOptions): RateChange | undefined {
  if (callsPerSecond === undefined) return undefined;
  if (by === undefined) throw new UsageError('--by must name who changes the rate');
  if (callsPerSecond === 'default') return { callsPerSecond: null, by };
  const rate = Number(callsPerSecond);
  if (!/^\d+$/.test(callsPerSecond) || rate < 1 || rate > 10_000)
    throw new UsageError('--calls-per-second must be an integer from 1 to 10000, or default');
  return { callsPerSecond: rate, by };
}

/** Undefined if the settings are only read. */
export function checkedSettings({
  by,
  reason,
  app,
  appId,
  first,
  approvals,
  recoveredAt: text,
}: SettingsOptions): CheckedSettings | undefined {
  if (appId !== undefined && app === undefined) throw new UsageError('--app-id requires --app');
  if (first && appId === undefined) throw new UsageError('--first requires --app-id');
  if (approvals === undefined && text === undefined) {
    if (by !== undefined || reason !== undefined || appId !== undefined)
      throw new UsageError('give --approvals FILE or none, or --recovered-at TIME, now or never');
    return undefined;
  }
  if (by === undefined || checkedReason(reason) === undefined || reason === undefined)
    throw new UsageError('--by and --reason must say who changes the settings, and why');
  return {
    ...{ by, reason, recoveredAt: checkedRecovery(text) },
    approvals: approvals === 'none' ? null : approvals,
  };
}

function checkedRecovery(text: string | undefined): string | null | undefined {
  if (text === 'never') return null;
  if (text === 'now' || text === undefined) return text;
  const time = checkedTime('--recovered-at', text);
  if (time !== undefined && Date.parse(time) > Date.now())
    throw new UsageError('--recovered-at must not be in the future: every payout would confirm first');
  return time;
}

export function checkedReason(reason: string | undefined): string | undefined {
  if (reason !== undefined && (reason === '' || reason.length > MAX_REASON_LENGTH))
    throw new UsageError(`--reason must have 1 to ${MAX_REASON_LENGTH} characters`);
  return reason;
}

export function payoutResolution({ by, ...options }: ResolveOptions): Resolution {
  const decision = checkedResolution(options, 'ORDER_ID');
  const { reviewedOrderId: reviewedOrderIds, tradeOrderId } = options;
  if (decision.created) {
    if (reviewedOrderIds) throw new UsageError('--reviewed-order-id requires --not-created');
    return { by, created: true, orderId: decision.id, ...(tradeOrderId !== undefined && { tradeOrderId }) };
  }
  if (tradeOrderId !== undefined) throw new UsageError('--trade-order-id requires --created');
  return { by, ...decision, ...(reviewedOrderIds && { reviewedOrderIds }) };
}

export function openingResolution({ by, ...options }: ResolveOptions): ReceivingAccountResolution {
  const decision = checkedResolution(options, 'ACCOUNT_ID');
  const { candidate: candidates } = options;
  if (!decision.created) return { by, ...decision, ...(candidates && { candidates }) };
  if (candidates) throw new UsageError('--candidate requires --not-created');
  return { by, created: true, accountId: decision.id };
}

function checkedResolution(options: Omit<ResolveOptions, 'by'>, idName: string) {
  const { created, notCreated, sends } = options;
  if ((created === undefined) === (notCreated === undefined))
    throw new UsageError(`give either --created ${idName} or --not-created end|retry`);
  if (created !== undefined) {
    if (sends !== undefined) throw new UsageError('--sends requires --not-created');
    return { created: true, id: created } as const;
  }
  if (sends !== undefined && !/^\d{1,9}$/.test(sends)) throw new UsageError('--sends must be an integer');
  if (notCreated === 'end' || notCreated === 'retry')
    return {
      created: false,
      then: notCreated,
      ...(sends !== undefined && { sends: Number(sends) }),
    } as const;
  throw new UsageError('--not-created must be end or retry');
}

function oneOf<T extends string>(
  option: string,
  value: string | undefined,
  known: readonly T[],
): T | undefined {
  const found = known.find((word) => word === value);
  if (value !== undefined && found === undefined)
    throw new UsageError(`${option} must be one of ${known.join(', ')}`);
  return found;
}

/** Of an approval. */
export function checkedTolerance(text: string): string {
  if (TOLERANCE.test(text)) return text;
  throw new UsageError(`--tolerance ${TOLERANCE_RULE}`);
}
