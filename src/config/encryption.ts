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
const keyMap = z.string().transform((text, context): ReadonlyMap<string, Buffer> => {
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
        'The keys that encrypt tokens a second time, in the same form as `PAYOUTS_ENCRYPTION_KEYS`. Workers and API servers that authorize users need the same keys. The codec server refuses to start with them.',
      requiredWhen: `for workers, ${UNLESS_TEST}`,
    }),
};

const schema = z.object(keyShape);

const MISSING = {
  PAYOUTS_ENCRYPTION_KEYS:
    'is missing: only PAYMENTS_ENVIRONMENT=test with a loopback PAYMENTS_BASE_URL may run without it',
  PAYOUTS_TOKEN_KEYS: 'is missing: it encrypts tokens',
} as const;

export interface Keys {
  /** Encrypts payloads. Undefined only in a test against loopback. */
  payloads: KeyRing | undefined;
  /** Encrypts tokens a second time. */
  tokens: KeyRing | undefined;
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
  const { PAYOUTS_ENCRYPTION_KEYS: payloads, PAYOUTS_TOKEN_KEYS: tokens } = keys.value;
  return {
    ok: true,
    value: { payloads: payloads && new KeyRing(payloads), tokens: tokens && new KeyRing(tokens) },
  };
}

/** Only a test that no other machine can reach may leave payloads unencrypted. */
export function mayRunWithoutKeys(environment: Environment): boolean {
  return isTest(environment) && isLoopback(environment['PAYMENTS_BASE_URL'] ?? '');
}
