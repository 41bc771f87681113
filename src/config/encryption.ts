/** The encryption keys of a process, and whether it may start without them. */
import { z } from 'zod';
import { KeyRing } from '../encryption/key-ring.ts';
import {
  type Environment,
  isLoopback,
  isTest,
  orThrow,
  problemsOf,
  type Read,
  readVariables,
} from './environment.ts';
import { keyProblems } from './published-secrets.ts';
import { secret } from './values.ts';

const KEY_BYTES = 32;
/** No dot, which separates the parts of a sealed token. */
const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** `keyId:base64(32 bytes)[,keyId:…]`. Its issues never quote a key. */
export const keyMap = z.string().transform((text, context): ReadonlyMap<string, Buffer> => {
  const keys = new Map<string, Buffer>();
  for (const entry of text.split(',')) {
    const [keyId = '', base64 = ''] = entry.trim().split(':');
    const key = Buffer.from(base64, 'base64');
    if (KEY_ID.test(keyId) && key.length === KEY_BYTES && !keys.has(keyId)) keys.set(keyId, key);
    else context.addIssue({ code: 'custom', message: 'must be keyId:base64(32 bytes) pairs, each id once' });
  }
  return keys;
});

const UNLESS_TEST = 'unless `PAYMENTS_ENVIRONMENT=test` and `PAYMENTS_BASE_URL` is a loopback address';

export const keyShape = {
  PAYOUTS_ENCRYPTION_KEYS: secret.pipe(keyMap).optional().meta({
    description:
      'The keys that encrypt payloads in Temporal: `keyId:base64(32 bytes)[,keyId:…]`. The first key encrypts; all keys decrypt. Give every process the same keys.',
    requiredWhen: UNLESS_TEST,
  }),
  PAYOUTS_TOKEN_KEYS: secret
    .pipe(keyMap)
    .optional()
    .meta({
      description:
        'The keys that encrypt tokens a second time, in the same form as `PAYOUTS_ENCRYPTION_KEYS`. Only workers have them: the API server and the codec server refuse to start with them.',
      requiredWhen: `for workers, ${UNLESS_TEST}`,
    }),
  PAYOUTS_AUTHORIZATION_KEYS: secret
    .pipe(keyMap)
    .optional()
    .meta({
      description:
        'The keys that encrypt the links and the codes of [user authorizations](http.md#authorize-a-user), in the same form as `PAYOUTS_ENCRYPTION_KEYS`. Give workers and API servers the same keys, other than `PAYOUTS_TOKEN_KEYS`. Without them, an API server authorizes no users. The codec server refuses to start with them.',
      requiredWhen: `for workers with \`PAYMENTS_REDIRECT_URI\`, ${UNLESS_TEST}`,
    }),
};

const schema = z.object(keyShape);

const MISSING = {
  PAYOUTS_ENCRYPTION_KEYS:
    'is missing: only PAYMENTS_ENVIRONMENT=test with a loopback PAYMENTS_BASE_URL may run without it',
  PAYOUTS_TOKEN_KEYS: 'is missing: it encrypts tokens',
  PAYOUTS_AUTHORIZATION_KEYS: 'is missing: it encrypts the codes of user authorizations',
} as const;

export interface Keys {
  /** Encrypts payloads. Undefined only in a test against loopback. */
  payloads: KeyRing | undefined;
  /** Encrypts tokens a second time. */
  tokens: KeyRing | undefined;
  /** Encrypts the links and codes of user authorizations. */
  authorizations: KeyRing | undefined;
}

/** Throws `ConfigError` if the keys are invalid, or missing where they are required. */
export function encryptionKeys(environment: Environment): Keys {
  return orThrow(readKeys(environment));
}

/** Without the `needed` keys, the process does not start, except in a test against loopback. */
export function readKeys(
  environment: Environment,
  needed: readonly (keyof typeof MISSING)[] = ['PAYOUTS_ENCRYPTION_KEYS'],
): Read<Keys> {
  const keys = readVariables(schema, environment);
  const missing = mayRunWithoutKeys(environment) ? [] : needed.filter((name) => !environment[name]);
  const problems = [...problemsOf(keys), ...missing.map((name) => `${name}: ${MISSING[name]}`)];
  if (!keys.ok) return { ok: false, problems };
  for (const [name, own] of Object.entries(keys.value))
    if (own) problems.push(...keyProblems(environment, name, own.values()));
  if (problems.length > 0) return { ok: false, problems };
  const {
    PAYOUTS_ENCRYPTION_KEYS: payloads,
    PAYOUTS_TOKEN_KEYS: tokens,
    PAYOUTS_AUTHORIZATION_KEYS: authorizations,
  } = keys.value;
  return {
    ok: true,
    value: { payloads: ringOf(payloads), tokens: ringOf(tokens), authorizations: ringOf(authorizations) },
  };
}

function ringOf(keys: ReadonlyMap<string, Buffer> | undefined): KeyRing | undefined {
  return keys && new KeyRing(keys);
}

/**
 * For a process that does not need these keys, and so could only leak them: reads the others, and reports each of these
 * that it was given. `what`: such as `the API server`.
 */
export function readKeysExcept(
  environment: Environment,
  foreign: readonly (keyof typeof MISSING)[],
  what: string,
): Read<Keys> {
  const own = Object.fromEntries(
    Object.entries(environment).filter(([name]) => !foreign.some((one) => one === name)),
  );
  const given = foreign.filter((name) => environment[name]);
  const keys = readKeys(own);
  if (given.length === 0) return keys;
  return {
    ok: false,
    problems: [...problemsOf(keys), ...given.map((name) => `${name}: must not be given to ${what}`)],
  };
}

/** Only a test that no other machine can reach may leave payloads unencrypted. */
export function mayRunWithoutKeys(environment: Environment): boolean {
  return isTest(environment) && isLoopback(environment['PAYMENTS_BASE_URL'] ?? '');
}
