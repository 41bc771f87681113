/** Faults of requests, and the rules that say when they strike. */
import { z } from 'zod';

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
