/** Faults of requests, and the rules that say when they strike. */
import { z } from 'zod';
import { type Random, seededRandom, seedOf } from '../runtime.ts';

export const OPERATIONS = [
  'oauthToken',
  'token',
  'httpbin',
  'receivingAccountCreate',
  'receivingAccountBalance',
  'receivingAccountDetail',
  'fee',
  'createCnyOrder',
  'queryDetail',
  'queryResult',
  'queryPayDetail',
  'accountQuery',
] as const;
export type OperationName = (typeof OPERATIONS)[number];

const ms = z.number().min(0);
const code = z.union([z.number(), z.string()]);

/**
 * Whether the request takes effect although its answer is faulty. `before` and `after` mean that the fault strikes
 * before or after the effect.
 */
const effect = z
  .enum(['none', 'commit', 'before', 'after'])
  .transform((word) => (word === 'commit' || word === 'after' ? 'commit' : 'none'));

/** For faults that only delay: before the request takes effect, or between effect and answer. */
const waits = z.enum(['before', 'after']);

/** What `odd-text` puts into descriptions. */
export const ODD_TEXTS = ['bad-byte', 'control', 'escape', 'surrogate', 'bidi'] as const;
export type OddText = (typeof ODD_TEXTS)[number];

/** The header `Retry-After`: seconds, or a date. */
const retryAfter = z.union([z.number().int().min(0), z.string()]).optional();

export const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('latency'), ms, effect: waits.default('after') }),
  z.strictObject({ kind: z.literal('drop-before') }),
  z.strictObject({ kind: z.literal('drop-after') }),
  z.strictObject({
    kind: z.literal('status'),
    status: z.number().int().min(200).max(599),
    body: z.string().optional(),
    retryAfter,
    effect: effect.default('none'),
  }),
  z.strictObject({
    kind: z.literal('envelope'),
    code,
    message: z.string().optional(),
    status: z.number().int().default(200),
    retryAfter,
    effect: effect.default('none'),
  }),
  z.strictObject({ kind: z.literal('garbage'), effect: effect.default('commit') }),
  z.strictObject({ kind: z.literal('html-502'), effect: effect.default('none') }),
  z.strictObject({ kind: z.literal('slow-body'), ms }),
  z.strictObject({ kind: z.literal('cut-body') }),
  z.strictObject({ kind: z.literal('redirect-307'), location: z.string() }),
  z.strictObject({ kind: z.literal('data-null') }),
  z.strictObject({ kind: z.literal('rate-limited-but-executes'), showAfterMs: ms.default(0) }),
  z.strictObject({
    kind: z.literal('random-answer'),
    /** For requests with an effect. Absent: the seed decides. */
    effect: effect.optional(),
    /** How long after its creation an order may be denied to a client that does not know of it. */
    denyMs: ms.default(1000),
  }),
  /** Without `text`, the seed decides. */
  z.strictObject({ kind: z.literal('odd-text'), text: z.enum(ODD_TEXTS).optional() }),
  z.strictObject({ kind: z.literal('hold-until-released'), effect: waits.default('before') }),
]);
export type Fault = z.output<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;
export type FaultKind = Fault['kind'];

/** Faults of the connection and of its proxies, which any operation can meet. `tooLongMs`: beyond the client's timeout. */
export function transportFaults(tooLongMs: number): FaultInput[] {
  return [
    { kind: 'drop-before' },
    { kind: 'drop-after' },
    { kind: 'cut-body' },
    { kind: 'html-502' },
    { kind: 'html-502', effect: 'commit' },
    { kind: 'garbage' },
    { kind: 'garbage', effect: 'none' },
    { kind: 'slow-body', ms: tooLongMs },
    { kind: 'latency', ms: tooLongMs, effect: 'before' },
    { kind: 'latency', ms: tooLongMs, effect: 'after' },
  ];
}

export const faultRuleSchema = z
  .strictObject({
    id: z.string().min(1).max(64).optional(),
    operation: z.enum([...OPERATIONS, 'any']).default('any'),
    partnerOrderId: z.string().optional(),
    /** How many matching requests pass first. */
    skip: z.number().int().min(0).default(0),
    /** How many requests are hit. Absent: all. */
    times: z.number().int().min(1).optional(),
    probability: z.number().min(0).max(1).default(1),
    seed: z.number().int().default(1),
    fault: faultSchema.optional(),
    /** Instead of one fault: the seed picks one of these for each request. */
    kinds: z.array(faultSchema).min(1).optional(),
  })
  .refine((rule) => (rule.fault === undefined) !== (rule.kinds === undefined), 'needs either fault or kinds');
export type FaultRule = z.output<typeof faultRuleSchema>;
export type FaultRuleInput = z.input<typeof faultRuleSchema>;

interface ActiveRule {
  id: string;
  rule: FaultRule;
  random: Random;
  /** Requests that were hit, by operation and order. */
  hitsOf: Map<string, number>;
  matched: number;
  hit: number;
  held: Set<() => void>;
}

export interface FaultReport {
  id: string;
  operation: string;
  partnerOrderId: string | null;
  kinds: string[];
  /** Counts of requests to which the rule applied, that it hit, and that it holds now. */
  matched: number;
  hit: number;
  held: number;
}

/** A fault that hits one request; `held` waits until the rule is released. */
export interface InjectedFault {
  fault: Fault;
  ruleId: string;
  /** Draws the same numbers for the same seed, operation, order and count, independent of other requests. */
  random: Random;
  held: () => Promise<void>;
}

export class FaultInjector {
  readonly #rules = new Map<string, ActiveRule>();
  #nextId = 1;

  /** Replaces an earlier rule with the same id. */
  add(rule: FaultRule): string {
    const id = rule.id ?? `fault-${this.#nextId++}`;
    this.release(id);
    this.#rules.set(id, {
      id,
      rule,
      random: seededRandom(rule.seed),
      hitsOf: new Map(),
      matched: 0,
      hit: 0,
      held: new Set(),
    });
    return id;
  }

  faultFor(operation: string, partnerOrderId: string | null): InjectedFault | undefined {
    for (const active of this.#rules.values()) {
      const fault = applies(active.rule, operation, partnerOrderId) ? nextFault(active) : undefined;
      if (!fault) continue;
      const random = randomFor(active, `${operation} ${partnerOrderId ?? ''}`);
      return { fault, ruleId: active.id, random, held: () => untilReleased(active) };
    }
    return undefined;
  }

  /** Releases the requests that the rule holds and returns their number; undefined for an unknown rule. */
  release(id: string): number | undefined {
    const active = this.#rules.get(id);
    if (!active) return undefined;
    const waiting = [...active.held];
    active.held.clear();
    for (const resume of waiting) resume();
    return waiting.length;
  }

  remove(id: string): boolean {
    this.release(id);
    return this.#rules.delete(id);
  }

  clear(): void {
    for (const id of [...this.#rules.keys()]) this.remove(id);
  }

  report(): FaultReport[] {
    return [...this.#rules.values()].map(({ id, rule, matched, hit, held }) => ({
      id,
      operation: rule.operation,
      partnerOrderId: rule.partnerOrderId ?? null,
      kinds: choicesOf(rule).map((fault) => fault.kind),
      matched,
      hit,
      held: held.size,
    }));
  }
}

function applies(rule: FaultRule, operation: string, partnerOrderId: string | null): boolean {
  if (rule.operation !== 'any' && rule.operation !== operation) return false;
  return rule.partnerOrderId === undefined || rule.partnerOrderId === partnerOrderId;
}

function nextFault(active: ActiveRule): Fault | undefined {
  const { rule } = active;
  if (rule.times !== undefined && active.hit >= rule.times) return undefined;
  active.matched += 1;
  if (active.matched <= rule.skip) return undefined;
  // Always draws both numbers, so that the sequence depends only on the seed.
  const [chance, choice] = [active.random(), active.random()];
  if (chance >= rule.probability) return undefined;
  active.hit += 1;
  const choices = choicesOf(rule);
  return choices[Math.floor(choice * choices.length)];
}

function randomFor(active: ActiveRule, target: string): Random {
  const count = active.hitsOf.get(target) ?? 0;
  active.hitsOf.set(target, count + 1);
  return seededRandom(seedOf(`${active.rule.seed} ${target} ${count}`));
}

function choicesOf(rule: FaultRule): Fault[] {
  return rule.kinds ?? (rule.fault ? [rule.fault] : []);
}

function untilReleased(active: ActiveRule): Promise<void> {
  return new Promise((resolve) => {
    active.held.add(resolve);
  });
}
