/** The settings, with defaults: what the spec leaves open, and what tests vary. The variables of the program. */
import { z } from 'zod';
import { parseMinor, parseRate } from './money.ts';

const milliseconds = z.number().min(0);
const seconds = z.number().min(0);
const span = z.tuple([milliseconds, milliseconds]);
const tokenChoice = z.enum(['any', 'application', 'user']);
const decimalAmount = z.string().refine((text) => parseMinor(text) !== undefined, 'must be an amount');
const decimalRate = z.string().refine((text) => parseRate(text) !== undefined, 'must be a rate');

export const settingsSchema = z.strictObject({
  // Rate limit
  callsPerSecond: z.number().int().min(1).default(20),
  rateLimitStyle: z.enum(['http', 'envelope']).default('http'),
  rejectedCallsCount: z.boolean().default(false),

  // Network delays: [min, max], uniformly distributed
  /** Before a call counts against the rate limit. */
  arrivesAfterMs: span.default([0, 0]),
  /** Before a call is processed. */
  answersAfterMs: span.default([0, 0]),

  // Transport
  /** Of answers, whatever `accept-encoding` says. */
  contentEncoding: z.enum(['none', 'gzip', 'deflate', 'br']).default('none'),
  /** What happens to a request on a connection that has carried one before. `reset` has no effect at the provider. */
  usedConnections: z.enum(['serve', 'reset']).default('serve'),
  /** How faults with `retryAfter` in seconds write the header. */
  retryAfterForm: z.enum(['seconds', 'date']).default('seconds'),

  // Tokens
  applicationTokenSeconds: seconds.default(7200),
  userTokenSeconds: seconds.default(2_592_000),
  refreshTokenSeconds: seconds.default(15_552_000),
  codeSeconds: seconds.default(1800),
  /** Prefix of every token and code, so that tests can find leaked secrets by a text search. */
  secretPrefix: z
    .string()
    .regex(/^[\w-]*$/)
    .default(''),
  refreshRotation: z.enum(['rotate', 'keep']).default('rotate'),
  previousRefreshTokenValid: z.boolean().default(true),
  /** What happens to the earlier access tokens of an application or a user when it gets another one. */
  earlierAccessTokens: z.enum(['valid', 'revoked']).default('valid'),
  gatewayToken: tokenChoice.default('any'),
  tradeToken: tokenChoice.default('any'),
  tradeAuthScheme: z.enum(['any', 'bearer', 'bare']).default('any'),
  unauthorizedStyle: z.enum(['http', 'envelope']).default('http'),
  /** Empty: requests to the trade endpoints need no signature. */
  signatureSecret: z.string().default(''),
  /** What the signature covers: the raw body, or `METHOD\npath\ntimestamp\nbody` with the time in `x-timestamp`. */
  signatureContent: z.enum(['body', 'request']).default('body'),
  signatureHeader: z.string().min(1).default('x-signature'),

  // Quotes and accounts
  lockLifetimeMs: milliseconds.default(60_000),
  lockRequired: z.boolean().default(true),
  /** Units of the target currency per unit of the origin currency. Equal currencies always have rate 1. */
  rates: z.record(z.string(), decimalRate).default({
    'USD/CNY': '7.1234',
    'EUR/CNY': '7.7501',
    'HKD/CNY': '0.9127',
    'GBP/CNY': '9.0333',
    'USD/EUR': '0.9191',
    'USD/HKD': '7.8049',
  }),
  feeRate: decimalRate.default('0.005'),
  originCurrencies: z.array(z.string()).default(['USD', 'EUR', 'HKD', 'GBP', 'CNY']),
  defaultBalance: decimalAmount.default('9999999999999999.99'),
  /** Whether `/v1/accounts` and `/v1/payments` wrap their answers. The spec names no envelope for them. */
  v1Envelope: z.enum(['A', 'bare']).default('A'),

  // How true answers are written
  /** Amounts as digits, or as Java writes a double: `1.0E7`; or every number as text. */
  numberStyle: z.enum(['plain', 'exponent', 'text']).default('plain'),
  /** The beneficiary is masked; or beneficiary and ids are in upper case, without dashes, dots and spaces. */
  echo: z.enum(['exact', 'masked', 'normalized']).default('exact'),
  /** The rate itself; its inverse, in the other direction; or 0. The amounts follow the true rate. */
  shownRate: z.enum(['true', 'inverse', 'zero']).default('true'),
  /** The balance in a quote: the amount, a text that is no amount, or nothing. */
  shownBalance: z.enum(['true', 'unreadable', 'absent']).default('true'),
  /** Whether `order_id` of the trade queries is the order's `orderId`, or a number of its own. */
  tradeOrderId: z.enum(['same', 'own']).default('same'),
  /** The `client_id` under which trade queries show the orders of a payer. Of other payers, any client shows them. */
  clientOfPayer: z.record(z.string(), z.string()).default({}),

  // Creation
  repeatedCreate: z.enum(['pay-again', 'refuse']).default('pay-again'),
  lockExpiredCode: z.number().int().default(30001),
  insufficientCode: z.number().int().default(30002),
  repeatedCode: z.number().int().default(30003),
  lockMismatchCode: z.number().int().default(30004),
  accountNotUsableCode: z.number().int().default(30005),

  // The lifecycle of an order
  finalAfterMs: milliseconds.default(300),
  readLagMs: milliseconds.default(0),
  timestampUnit: z.enum(['ms', 's']).default('ms'),
  emptyCreateTimeOnFailure: z.boolean().default(true),
  /** The spec types the two detail fields `object` but describes entries: a list, or a single entry as an object. */
  detailShape: z.enum(['list', 'object']).default('list'),
  emptyDetail: z.enum(['list', 'null', 'absent']).default('list'),
  /** What `refund_flag` says about a payment that failed, whose money the payer has back. */
  failedRefundFlag: z.boolean().default(false),

  // Notifications
  notificationStyle: z.enum(['snake', 'camel']).default('snake'),
  /** Empty: notifications are not signed. After `whsec_` follows base64; any other text is the secret itself. */
  notificationSecret: z.string().default(''),
  notificationBackoffMs: z.array(milliseconds).default([200, 1000, 3000]),
  notificationTimeoutMs: milliseconds.default(5000),
});

export type Settings = z.output<typeof settingsSchema>;
export type SettingsChange = z.input<typeof settingsSchema>;

export const appSchema = z.strictObject({
  appId: z.string().min(1),
  appSecret: z.string().min(1),
  /** Where the authorization page may redirect the user. Absent: any http(s) address. */
  redirectUri: z.url().optional(),
  notifyUrl: z.url().optional(),
});
export type App = z.output<typeof appSchema>;

export const appChangeSchema = z.strictObject({
  redirectUri: z.url().nullable().optional(),
  notifyUrl: z.url().nullable().optional(),
});
export type AppChange = z.input<typeof appChangeSchema>;

export const DEFAULT_APPS: readonly App[] = [{ appId: 'demo-app', appSecret: 'demo-secret' }];

const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'is not JSON' });
    return z.NEVER;
  }
});

export const simulatorShape = {
  SIMULATOR_LISTEN: z.string().default('127.0.0.1:8090').meta({
    description: 'Where the simulator listens. Port 0 takes any free port.',
    valueType: '`host:port`',
  }),
  SIMULATOR_APPS: jsonText.pipe(z.array(appSchema).min(1)).optional().meta({
    description:
      'The applications: `[{"appId", "appSecret", "redirectUri"?, "notifyUrl"?}]`. Default: `demo-app` with the secret `demo-secret`.',
    valueType: 'JSON',
  }),
  SIMULATOR_SETTINGS: jsonText.pipe(settingsSchema).optional().meta({
    description:
      'Settings over the defaults of [settings.ts](../simulator/settings.ts): rate limit, lifetimes, rates, fee, what a repeated create call does, and every choice that the spec leaves open.',
    valueType: 'JSON',
  }),
};

const schema = z.object(simulatorShape);

/** An empty variable counts as absent, as it does for our other programs. Throws `z.ZodError`. */
export function simulatorEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): z.output<typeof schema> {
  const present = Object.entries(environment).filter(([, value]) => value !== '');
  return schema.parse(Object.fromEntries(present));
}
