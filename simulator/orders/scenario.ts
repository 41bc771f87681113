/** Scenarios for orders: a name and `key=value` parameters, e.g. `partial splits=3 failed=1 notify=late:3s`. */

export const SCENARIOS = [
  'success',
  'failure',
  'split',
  'partial',
  'slow',
  'stuck',
  'returned',
  'declined',
  'rejected',
  'refund',
  'complete-late',
  'detail-late',
  'sums-wrong',
  'drift',
  'v2-disagrees',
  'unknown-status',
  'lock-ignored',
  'failed-received',
  'debit-differs',
  'other-beneficiary',
  'no-out-order-id',
] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

export const NOTIFY_MODES = [
  'sent',
  'none',
  'lost',
  'doubled',
  'early',
  'late',
  'out-of-order',
  'forged',
  'wrong-order',
] as const;
export type NotifyMode = (typeof NOTIFY_MODES)[number];

/** A way in which answers are false for a while. Without `forMs` and `answers`, they stay false. */
export interface Oddity {
  kind:
    | 'complete-late'
    | 'detail-late'
    | 'sums-wrong'
    | 'unknown-status'
    | 'v2-disagrees'
    | 'failed-received'
    | 'debit-differs';
  forMs?: number | undefined;
  answers?: number | undefined;
}

export interface Plan {
  name: ScenarioName;
  /** Undefined: the order never ends, unless the control API ends it. */
  outcome: 'SUCCESS' | 'PARTIAL_SUCCESS' | 'FAILED' | undefined;
  finalMs: number | undefined;
  readLagMs: number | undefined;
  auditWhileOpen: string;
  auditAtEnd: string;
  splits: number;
  failed: number;
  /** Whether a FAILED order lists its failed split, or no split at all. */
  failedDetail: 'none' | 'failed-split';
  refundAfterMs: number | undefined;
  driftPercent: number;
  /** By how many percent the detail overstates the debit. */
  debitPercent: number;
  /** The field by which the order's beneficiary differs from the requested one. */
  otherBeneficiary: BeneficiaryField | undefined;
  /** Answers about the order omit its `outOrderId`. */
  outOrderIdHidden: boolean;
  lockIgnored: boolean;
  unknownStatus: string;
  oddity: Oddity | undefined;
  notify: { mode: NotifyMode; delayMs: number };
}

export const BENEFICIARY_FIELDS = ['account', 'name', 'bank'] as const;
export type BeneficiaryField = (typeof BENEFICIARY_FIELDS)[number];

export class ScenarioError extends Error {
  override readonly name = 'ScenarioError';
}

const BASE: Plan = {
  name: 'success',
  outcome: 'SUCCESS',
  finalMs: undefined,
  readLagMs: undefined,
  auditWhileOpen: 'PROCESSING',
  auditAtEnd: 'APPROVED',
  splits: 1,
  failed: 0,
  failedDetail: 'failed-split',
  refundAfterMs: undefined,
  driftPercent: 0,
  debitPercent: 0,
  otherBeneficiary: undefined,
  outOrderIdHidden: false,
  lockIgnored: false,
  unknownStatus: 'IN_LIMBO',
  oddity: undefined,
  notify: { mode: 'sent', delayMs: 0 },
};

const BY_NAME: Record<ScenarioName, Partial<Plan>> = {
  success: {},
  failure: { outcome: 'FAILED', failed: 1 },
  split: { splits: 3 },
  partial: { outcome: 'PARTIAL_SUCCESS', splits: 3, failed: 1 },
  slow: { finalMs: 5000 },
  stuck: { outcome: undefined },
  returned: { outcome: undefined, auditWhileOpen: 'RETURNED' },
  declined: { outcome: undefined, auditWhileOpen: 'DECLINED' },
  rejected: { outcome: 'FAILED', failed: 1, failedDetail: 'none', auditAtEnd: 'REJECTED' },
  refund: { refundAfterMs: 1000 },
  'complete-late': { splits: 2, oddity: { kind: 'complete-late', forMs: 1000 } },
  'detail-late': { oddity: { kind: 'detail-late', forMs: 1000 } },
  'sums-wrong': { splits: 2, oddity: { kind: 'sums-wrong' } },
  drift: { driftPercent: 5 },
  'v2-disagrees': { oddity: { kind: 'v2-disagrees' } },
  'unknown-status': { oddity: { kind: 'unknown-status' } },
  'lock-ignored': { lockIgnored: true },
  'failed-received': { oddity: { kind: 'failed-received' } },
  'debit-differs': { debitPercent: 5, oddity: { kind: 'debit-differs' } },
  'other-beneficiary': { otherBeneficiary: 'account' },
  'no-out-order-id': { outOrderIdHidden: true },
};

type Apply = (plan: Plan, value: string) => Plan;

const PARAMETERS: Record<string, Apply> = {
  final: (plan, value) => ({ ...plan, finalMs: duration(value), outcome: outcomeOnceFinal(plan) }),
  readLag: (plan, value) => ({ ...plan, readLagMs: duration(value) }),
  splits: (plan, value) => ({ ...plan, splits: whole(value, 1) }),
  failed: (plan, value) => ({ ...plan, failed: whole(value, 0) }),
  detail: (plan, value) => ({ ...plan, failedDetail: oneOf(value, ['none', 'failed-split'] as const) }),
  after: (plan, value) => ({ ...plan, refundAfterMs: duration(value) }),
  percent: (plan, value) => withPercent(plan, Math.min(whole(value, 1), 99)),
  field: (plan, value) => withOtherBeneficiary(plan, oneOf(value, BENEFICIARY_FIELDS)),
  status: (plan, value) => ({ ...plan, unknownStatus: value }),
  for: (plan, value) => ({ ...plan, oddity: { ...oddityOf(plan, 'for'), forMs: duration(value) } }),
  answers: (plan, value) => ({
    ...plan,
    oddity: { kind: oddityOf(plan, 'answers').kind, answers: whole(value, 1) },
  }),
  notify: (plan, value) => ({ ...plan, notify: notifyOf(value) }),
};

/** Throws `ScenarioError`: a misspelled scenario must never pass as `success`. */
export function parseScenario(text: string): Plan {
  const [name = '', ...parameters] = text.trim().split(/\s+/);
  const known = oneOf(name, SCENARIOS);
  let plan: Plan = { ...BASE, ...BY_NAME[known], name: known };
  for (const parameter of parameters) {
    const [key = '', ...rest] = parameter.split('=');
    const apply = Object.hasOwn(PARAMETERS, key) ? PARAMETERS[key] : undefined;
    if (!apply) throw new ScenarioError(`unknown scenario parameter ${parameter}`);
    plan = apply(plan, rest.join('='));
  }
  return checked(plan);
}

function checked(plan: Plan): Plan {
  if (plan.outcome === 'FAILED') return { ...plan, failed: plan.splits };
  if (plan.outcome === 'PARTIAL_SUCCESS' && (plan.failed < 1 || plan.failed >= plan.splits))
    throw new ScenarioError('a partial success needs 1 <= failed < splits');
  if (plan.outcome !== 'PARTIAL_SUCCESS' && plan.failed > 0)
    throw new ScenarioError('failed belongs to the scenario partial');
  return plan;
}

/** `final` ends an order that waits for documents; a stuck order stays stuck. */
function outcomeOnceFinal(plan: Plan): Plan['outcome'] {
  return plan.name === 'returned' || plan.name === 'declined' ? 'SUCCESS' : plan.outcome;
}

function withPercent(plan: Plan, percent: number): Plan {
  if (plan.name === 'drift') return { ...plan, driftPercent: percent };
  if (plan.name === 'debit-differs') return { ...plan, debitPercent: percent };
  throw new ScenarioError(`percent does not belong to the scenario ${plan.name}`);
}

function withOtherBeneficiary(plan: Plan, field: BeneficiaryField): Plan {
  if (plan.otherBeneficiary === undefined)
    throw new ScenarioError(`field does not belong to the scenario ${plan.name}`);
  return { ...plan, otherBeneficiary: field };
}

function oddityOf(plan: Plan, parameter: string): Oddity {
  if (!plan.oddity) throw new ScenarioError(`${parameter} does not belong to the scenario ${plan.name}`);
  return plan.oddity;
}

function notifyOf(value: string): Plan['notify'] {
  const [mode = '', delay] = value.split(':');
  return { mode: oneOf(mode, NOTIFY_MODES), delayMs: delay === undefined ? 0 : duration(delay) };
}

function duration(value: string): number {
  const ms = parseDurationMs(value);
  if (ms === undefined) throw new ScenarioError(`${value} is not a duration such as 500ms or 2s`);
  return ms;
}

function whole(value: string, least: number): number {
  const number = /^\d{1,4}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= least)) throw new ScenarioError(`${value} is not a whole number of at least ${least}`);
  return number;
}

function oneOf<const Value extends string>(value: string, allowed: readonly Value[]): Value {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new ScenarioError(`${value} is none of ${allowed.join(', ')}`);
  return found;
}

const UNIT_MS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  const unitMs = UNIT_MS[match?.[2] ?? ''];
  return match && unitMs !== undefined ? Number(match[1]) * unitMs : undefined;
}
