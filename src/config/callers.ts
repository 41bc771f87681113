/** Who may call the API server, and what for: read once from `PAYOUTS_API_KEYS_FILE`. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { amount, appName, currency, fieldErrors } from '../contract/payout-request.ts';
import { NotJsonError, readPlainJson } from '../payments/exact-json.ts';
import type { Read } from './config-error.ts';
import { type Environment, isLoopback } from './environment.ts';
import type { Listen } from './listen.ts';

/** What a caller may do. `read` looks at what was started, `open` is for receiving accounts, `metrics` scrapes; the others are the routes' names. */
export const VERBS = [
  'start',
  'read',
  'approve',
  'refuse',
  'cancel',
  'resolve',
  'poll',
  'batch',
  'quote',
  'account',
  'open',
  'metrics',
] as const;
export type Verb = (typeof VERBS)[number];

/** `any` is only for the caller of a test without keys. */
export interface Caller {
  name: string;
  applications: readonly string[] | 'any';
  verbs: readonly Verb[];
  /** The largest `instructedAmount` by its currency; a currency that is not there is not allowed. */
  largestAmount: Readonly<Record<string, string>> | 'any';
}

export interface Callers {
  /** SHA-256 of each bearer key, 32 bytes. Empty: whoever calls is `test`. */
  keys: readonly { hash: Buffer; caller: Caller }[];
}

export const TEST_CALLER: Caller = {
  name: 'test',
  applications: 'any',
  verbs: VERBS,
  largestAmount: 'any',
};

const KEY = 'PAYOUTS_API_KEYS_FILE';

export const callersShape = {
  [KEY]: z.string().optional().meta({
    description:
      'A JSON file of the callers and what each of them may do: see [PAYOUTS_API_KEYS_FILE](#payouts_api_keys_file). Without it, every caller is `test`.',
    requiredWhen: 'unless `PAYMENTS_ENVIRONMENT=test` and the API server listens on loopback',
    valueType: 'path',
  }),
};

const hash = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex: 64 lower case digits');

/** One entry of `PAYOUTS_API_KEYS_FILE`. */
export const callerSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lower case letters, digits and hyphens')
    .describe(
      'The name of the caller, unique in the file: lowercase letters, digits and hyphens, at most 32. It is recorded in histories as `by`.',
    ),
  keySha256: z.array(hash).min(1).max(2).meta({
    description: 'The SHA-256 of the bearer key in lowercase hex. Two while a key is replaced.',
    valueType: 'list of 1 or 2 texts',
  }),
  applications: z
    .array(appName)
    .min(1)
    .meta({ description: 'The applications that the caller may use, by name.', valueType: 'list of texts' }),
  verbs: z
    .array(z.enum(VERBS))
    .min(1)
    .meta({
      description: `What the caller may do: ${VERBS.map((verb) => `\`${verb}\``).join(', ')}.`,
      valueType: 'list of verbs',
    }),
  largestAmount: z.record(currency(), amount).meta({
    description:
      'The largest `instructedAmount` by its currency. A currency that is not listed is not allowed.',
    valueType: 'object: currency to amount',
  }),
});

export const callersFile = z
  .array(callerSchema)
  .min(1, 'must name a caller')
  .superRefine((callers, context) => {
    const twice = (values: readonly string[], value: string) =>
      values.indexOf(value) !== values.lastIndexOf(value);
    const names = callers.map(({ name }) => name);
    const hashes = callers.flatMap(({ keySha256 }) => keySha256);
    for (const [at, { name, keySha256 }] of callers.entries()) {
      if (twice(names, name))
        context.addIssue({ code: 'custom', path: [at, 'name'], message: 'stands there twice' });
      if (keySha256.some((one) => twice(hashes, one)))
        context.addIssue({ code: 'custom', path: [at, 'keySha256'], message: 'stands there twice' });
    }
  });

/** Without a file, only a test that no other machine can reach may serve payouts. */
export function readCallers(
  environment: Environment,
  service: { PAYMENTS_ENVIRONMENT: string; PAYOUTS_API_LISTEN: Listen } | undefined,
): Read<Callers> {
  const file = environment[KEY];
  if (file) return fromFile(file);
  if (service === undefined || mayGoWithout(service)) return { ok: true, value: { keys: [] } };
  return {
    ok: false,
    problems: [`${KEY}: is missing: only PAYMENTS_ENVIRONMENT=test that listens on loopback may go without`],
  };
}

function mayGoWithout(service: { PAYMENTS_ENVIRONMENT: string; PAYOUTS_API_LISTEN: Listen }): boolean {
  const { host } = service.PAYOUTS_API_LISTEN;
  return (
    service.PAYMENTS_ENVIRONMENT === 'test' && isLoopback(`http://${host.includes(':') ? `[${host}]` : host}`)
  );
}

function fromFile(path: string): Read<Callers> {
  let content: unknown;
  try {
    content = readPlainJson(readFileSync(path));
  } catch (error) {
    const why = error instanceof NotJsonError ? `: ${error.message}` : '';
    return { ok: false, problems: [`${KEY}: ${path} cannot be read as JSON${why}`] };
  }
  const parsed = callersFile.safeParse(content);
  if (!parsed.success)
    return { ok: false, problems: fieldErrors(parsed.error).map((e) => `${KEY}: ${e.path} ${e.message}`) };
  const keys = parsed.data.flatMap(({ keySha256, ...caller }) =>
    keySha256.map((hex) => ({ hash: Buffer.from(hex, 'hex'), caller })),
  );
  return { ok: true, value: { keys } };
}
