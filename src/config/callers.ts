/**
 * Who may start payouts, and what they may pay: the callers of the API server, from `PAYOUTS_API_KEYS_FILE`; those of the
 * Nexus operation `pay`, from `PAYOUTS_NEXUS_FILE`; and which payouts require an approval.
 */
import { z } from 'zod';
import { amount, appName, currency, identifier, text, timeWithOffset } from '../contract/fields.ts';
import { MAX_PAYOUTS_PER_DAY } from '../domain/daily-limits.ts';
import { type Permissions, usesAny } from '../domain/permissions.ts';
import { ConfigError, type Environment } from './environment.ts';
import { jsonFile } from './json-file.ts';
import type { HashedKey } from './keys.ts';
import { Secrets } from './secrets.ts';
import { type Listen, listensOnLoopback, network, optionalText } from './values.ts';

/** What a caller may do. `read` covers the state of payouts, batches and receiving account requests, `open` receiving accounts, `authorize` links for users, `pause` also `resume`, `events` the test, the repetition and the enabling of event deliveries, `metrics` the scrape; the others are named as their routes. */
export const VERBS = [
  'start',
  'read',
  'approve',
  'refuse',
  'cancel',
  'resolve',
  'acknowledge',
  'poll',
  'batch',
  'quote',
  'account',
  'open',
  'authorize',
  'pause',
  'events',
  'metrics',
] as const;
export type Verb = (typeof VERBS)[number];

/** `any`: only for the caller of a test without keys. */
export interface Caller extends Permissions {
  name: string;
  applications: readonly string[] | 'any';
  verbs: readonly Verb[];
  /** The request limit. Default: the setting. `any`: only for a test without keys. */
  requestsPerSecond?: number | 'any' | undefined;
  /** The users who act as this caller on the desk, behind a proxy that names them. */
  users?: readonly string[] | undefined;
  /** The roles whose holders act as this caller on the desk, behind an OpenID provider. */
  roles?: readonly string[] | undefined;
  /** On the desk, where `name` is that of a user: the caller whose daily limits apply. */
  actsFor?: string | undefined;
  /** The addresses and networks from which the key is accepted. Absent: all. */
  addresses?: readonly string[] | undefined;
  /** ISO 8601. */
  expiresAt?: string | undefined;
}

export interface Callers {
  /** Empty: every caller is `test`. */
  readonly keys: readonly (HashedKey & { caller: Caller })[];
  /** The file that they are from, and how to read it again, which throws `ConfigError`. */
  readonly file?: { path: string; read(): Callers };
}

export const TEST_CALLER: Caller = {
  name: 'test',
  applications: 'any',
  verbs: VERBS,
  largestAmount: 'any',
  requestsPerSecond: 'any',
};

const KEYS_FILE = 'PAYOUTS_API_KEYS_FILE';

export const callersShape = {
  [KEYS_FILE]: z.string().optional().meta({
    description:
      '[A JSON file of the callers](#payouts_api_keys_file) and what each may do. Without it, every caller is `test`.',
    requiredWhen: 'unless `PAYMENTS_ENVIRONMENT=test` and the API server listens on loopback',
    valueType: 'path',
  }),
};

/** More than one API server serves. */
export const MAX_REQUESTS_PER_SECOND = 10_000;

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex: 64 lowercase digits');

export const permissionShape = {
  largestAmount: z.record(currency(), amount).meta({
    description: "The largest `instructedAmount`, by currency. A currency that isn't listed isn't allowed.",
    valueType: 'object: currency to amount',
  }),
  dailyAmount: z.record(currency(), amount).optional().meta({
    description:
      "The largest total of `instructedAmount` per UTC day, by currency. A currency that isn't listed isn't allowed. Default: no limit.",
    valueType: 'object: currency to amount',
  }),
  dailyCount: z
    .int()
    .min(1)
    .max(MAX_PAYOUTS_PER_DAY)
    .optional()
    .meta({
      description: `The largest number of payouts per UTC day, up to ${MAX_PAYOUTS_PER_DAY}. Default: no limit; with \`dailyAmount\`, ${MAX_PAYOUTS_PER_DAY}.`,
      valueType: 'integer',
    }),
  clientIds: scope(
    identifier(),
    'The clients whose payouts and accounts the caller may use. Required for a caller that may `quote` or `account` and has another of these limits. Default: all.',
  ),
  payerIds: scope(
    identifier(),
    'The payers whose payouts and receiving accounts the caller may use. Required for a caller that may `start`, `batch`, `open`, `quote` or `account` and has another of these limits. Default: all.',
  ),
  openIds: scope(
    text(128),
    'The users (`openId`) for whom the caller may act. Requests without `openId` are then rejected. Default: all, and requests without a user.',
  ),
  idPrefix: z
    .string()
    .regex(
      /^[A-Za-z0-9][\w.-]{0,31}$/,
      'must be 1 to 32 letters, digits, dots, hyphens and underscores, the first a letter or digit',
    )
    .optional()
    .meta({
      description:
        'How every `partnerOrderId`, `batchId` and `requestId` of the caller begins, such as `shop7-`. Default: anything.',
      valueType: 'text',
    }),
};

/** A caller that someone limited must not debit whom it likes, and sees no accounts of others: a quote tells a balance. */
const NAMED = {
  clientIds: ['quote', 'account'],
  payerIds: ['start', 'batch', 'open', 'quote', 'account'],
} as const satisfies Record<string, readonly Verb[]>;

function unnamed(verbs: readonly Verb[], limits: Permissions): (keyof typeof NAMED)[] {
  const lists = ['clientIds', 'payerIds'] as const;
  return lists.filter((list) => NAMED[list].some((verb) => verbs.includes(verb)) && usesAny(list, limits));
}

function missing(list: keyof typeof NAMED): string {
  return `is missing: whoever may ${NAMED[list].join(' or ')} and is limited otherwise must name it`;
}

export const callerSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lowercase letters, digits and hyphens')
    .describe(
      "The caller's unique name: 1 to 32 lowercase letters, digits and hyphens. Recorded in histories as `by`.",
    ),
  keySha256: z.array(hash).min(1).max(2).optional().meta({
    description: 'The SHA-256 of the bearer key in lowercase hex. Two, for rotation.',
    requiredWhen: 'without `users` and `roles`',
    valueType: 'list of 1 or 2 texts',
  }),
  applications: z
    .array(appName)
    .min(1)
    .meta({ description: 'The applications that the caller may use.', valueType: 'list of texts' }),
  verbs: z
    .array(z.enum(VERBS))
    .min(1)
    .meta({
      description: `What the caller may do: ${VERBS.map((verb) => `\`${verb}\``).join(', ')}.`,
      valueType: 'list of verbs',
    }),
  ...permissionShape,
  requestsPerSecond: z.int().min(1).max(MAX_REQUESTS_PER_SECOND).optional().meta({
    description:
      "The caller's sustained limit at one API server, with a burst of two seconds. Default: `PAYOUTS_API_REQUESTS_PER_SECOND`.",
    valueType: 'integer',
  }),
  users: z
    .array(
      z
        .string()
        .regex(
          /^[a-z0-9][a-z0-9.@_+-]{0,63}$/,
          'must be 1 to 64 lowercase letters, digits and the characters . @ _ + -',
        ),
    )
    .min(1)
    .optional()
    .meta({
      description:
        "The users with this caller's permissions on [the desk](desk.md), as `PAYOUTS_DESK_USER_HEADER` names them, in lowercase. Decisions are recorded under their names.",
      valueType: 'list of texts',
    }),
  addresses: z.array(network).min(1).optional().meta({
    description:
      'The addresses and networks, such as `203.0.113.7` or `10.0.0.0/8`, from which the key and the users are accepted. From others, the key is unknown. Behind a proxy, list it in `PAYOUTS_API_PROXIES`. Default: all.',
    valueType: 'list of addresses',
  }),
  roles: z.array(z.string().min(1).max(256)).min(1).optional().meta({
    description:
      "The roles with this caller's permissions on [the desk](desk.md), as `PAYOUTS_DESK_OIDC_ROLES_CLAIM` lists them. For a person with several, the first caller in the file counts. Decisions are recorded under the person's name.",
    valueType: 'list of texts',
  }),
  expiresAt: timeWithOffset().optional().meta({
    description:
      "When the caller's keys, and the sessions of its people, expire, such as `2027-01-31T00:00:00Z`. Default: never.",
    valueType: 'time',
  }),
});

function scope(id: z.ZodType<string>, description: string) {
  return z.array(id).min(1).optional().meta({ description, valueType: 'list of texts' });
}

export const callersFile = z
  .array(callerSchema)
  .min(1, 'must name a caller')
  .superRefine((callers, context) => {
    const twice = (values: readonly string[], value: string) =>
      values.indexOf(value) !== values.lastIndexOf(value);
    const names = callers.map(({ name }) => name);
    const hashes = callers.flatMap(({ keySha256 = [] }) => keySha256);
    // A user who has the name of a caller could approve what that caller started, or the other way round.
    const everyone = [...names, ...callers.flatMap(({ users = [] }) => users)];
    for (const [at, { name, keySha256, users = [], roles = [], verbs, ...limits }] of callers.entries()) {
      for (const list of unnamed(verbs, limits))
        context.addIssue({ code: 'custom', path: [at, list], message: `of ${name} ${missing(list)}` });
      if (keySha256 === undefined && users.length + roles.length === 0)
        context.addIssue({
          code: 'custom',
          path: [at, 'keySha256'],
          message: 'is missing: nobody is this caller',
        });
      if (users.some((user) => twice(everyone, user)))
        context.addIssue({ code: 'custom', path: [at, 'users'], message: 'names a user or a caller twice' });
      if (twice(names, name))
        context.addIssue({ code: 'custom', path: [at, 'name'], message: 'appears twice' });
      if (keySha256?.some((one) => twice(hashes, one)))
        context.addIssue({ code: 'custom', path: [at, 'keySha256'], message: 'appears twice' });
    }
  })
  .refine(
    (callers) => {
      const roles = callers.flatMap((caller) => caller.roles ?? []);
      return new Set(roles).size === roles.length;
    },
    { path: ['roles'], message: 'list a role twice' },
  );

/** For a caller that only people are: nobody can find a key with this hash. */
const NOBODYS_KEY = '0'.repeat(64);

interface ApiServer {
  PAYMENTS_ENVIRONMENT: string;
  PAYOUTS_API_LISTEN: Listen;
}

/**
 * Without a file, only a test that no other machine can reach may serve payouts. `others`: all other secrets of the process.
 * Throws `ConfigError`.
 */
export function readCallers(
  environment: Environment,
  service: ApiServer | undefined,
  others = new Secrets(environment),
): Callers {
  const file = environment[KEYS_FILE];
  if (file) return fromFile(file, others);
  if (service === undefined || isOptional(service)) return { keys: [] };
  throw new ConfigError([
    `${KEYS_FILE}: is missing: only PAYMENTS_ENVIRONMENT=test that listens on loopback may run without it`,
  ]);
}

function isOptional({ PAYMENTS_ENVIRONMENT, PAYOUTS_API_LISTEN: listen }: ApiServer): boolean {
  return PAYMENTS_ENVIRONMENT === 'test' && listensOnLoopback(listen);
}

function fromFile(path: string, others: Secrets): Callers {
  const secrets = others.copy();
  const keys = jsonFile(KEYS_FILE, path, callersFile).flatMap(({ keySha256 = [NOBODYS_KEY], ...caller }) =>
    keySha256.map((hex) => ({ hash: Buffer.from(hex, 'hex'), caller })),
  );
  const problems = keys.flatMap(({ hash, caller }) =>
    secrets.add(`${KEYS_FILE}: the key of ${caller.name}`, { hash }),
  );
  if (problems.length > 0) throw new ConfigError(problems);
  return { keys, file: { path, read: () => fromFile(path, others) } };
}

const NEXUS_FILE = 'PAYOUTS_NEXUS_FILE';

export const nexusShape = {
  [NEXUS_FILE]: optionalText(
    '[A JSON file](#payouts_nexus_file) of the applications that serve [Nexus](nexus.md) calls. Give all workers the same. Default: none.',
    'path',
  ),
};

export const nexusEntry = z.strictObject(permissionShape);
const nexusFile = z.record(
  appName,
  nexusEntry.refine((entry) => !usesAny('payerIds', entry), {
    path: ['payerIds'],
    message: missing('payerIds'),
  }),
);

/** By application. Refuses names that no application of this worker has: they are typing errors. Throws `ConfigError`. */
export function readNexus(
  environment: Environment,
  applications: ReadonlyMap<string, unknown> | undefined,
): ReadonlyMap<string, Permissions> {
  const { [NEXUS_FILE]: path } = environment;
  const file = path ? jsonFile(NEXUS_FILE, path, nexusFile) : {};
  const unknown = Object.keys(file).filter((name) => applications?.has(name) === false);
  if (unknown.length > 0)
    throw new ConfigError(unknown.map((name) => `${NEXUS_FILE}: ${name} is not configured`));
  return new Map(Object.entries(file));
}

const amounts = z.record(currency(), amount);
const callerName = z.string().min(1).max(128);

export const approvalsFile = z.strictObject({
  applications: z.record(appName, amounts).default({}).meta({
    description:
      "By application: the largest `instructedAmount` without an approval, by currency. A currency that isn't listed always requires one. An application that isn't listed requires none.",
    valueType: 'object: application to object: currency to amount',
  }),
  callers: z.record(callerName, amounts).default({}).meta({
    description:
      'The same, by the caller who starts the payout: `name` in `PAYOUTS_API_KEYS_FILE`, or `--by` of the CLI. A payout without a starter has the limits of all callers.',
    valueType: 'object: caller to object: currency to amount',
  }),
});

export type ApprovalsFile = z.output<typeof approvalsFile>;
