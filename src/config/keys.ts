/** The keys of a process: those that encrypt, and the hashes of bearer keys. Only a test may run without encryption keys. */

import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { KeyRing } from '../encryption/key-ring.ts';
import { SearchKeys } from '../encryption/search-keys.ts';
import { type Environment, isLoopback, isTest, Parts, readVariables } from './environment.ts';
import { Secrets } from './secrets.ts';
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
    else context.addIssue({ code: 'custom', message: 'must be keyId:base64(32 bytes) pairs, each ID once' });
  }
  return keys;
});

const UNLESS_TEST = 'unless in a [loopback test](#secrets)';

export const keyShape = {
  PAYOUTS_ENCRYPTION_KEYS: secret.pipe(keyMap).optional().meta({
    description:
      'Encrypts payloads in Temporal: `keyId:base64(32 bytes)[,keyId:…]`. The first key encrypts; all keys decrypt. Give every process the same keys.',
    requiredWhen: UNLESS_TEST,
  }),
  PAYOUTS_TOKEN_KEYS: secret
    .pipe(keyMap)
    .optional()
    .meta({
      description:
        "Encrypts tokens a second time, in the same form. For workers only: the API server and the codec server don't start with it.",
      requiredWhen: `for workers, ${UNLESS_TEST}`,
    }),
  PAYOUTS_AUTHORIZATION_KEYS: secret
    .pipe(keyMap)
    .optional()
    .meta({
      description:
        "Encrypts links and codes of [user authorizations](http.md#authorize-a-user), in the same form. Give workers and API servers the same keys, other than `PAYOUTS_TOKEN_KEYS`. Without it, an API server authorizes no users. The codec server doesn't start with it.",
      requiredWhen: `for workers with \`PAYMENTS_REDIRECT_URI\`, ${UNLESS_TEST}`,
    }),
  PAYOUTS_SEARCH_KEYS: secret.pipe(keyMap).optional().meta({
    description:
      "Payouts are [found](http.md#lists) by hashes under these keys, in the same form: new payouts get hashes under the first key, and searches ask for hashes under all. Give every program that starts or lists payouts the same keys. Without it, `clientId` and the like are no filters. The codec server doesn't start with it.",
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
  /** Make the hashes by which payouts are found. */
  search: SearchKeys | undefined;
}

type KeyName = keyof typeof keyShape;

interface KeyRules {
  needed?: readonly (keyof typeof MISSING)[];
  foreign?: readonly KeyName[];
  what?: string;
  /** Of the process, so far. */
  secrets?: Secrets;
}

/**
 * Without the `needed` keys, the process does not start, except in a test against loopback. Nor does it with `foreign` keys,
 * which it does not need and so could only leak; `what` is the process, such as `the API server`. Throws `ConfigError`.
 */
export function encryptionKeys(
  environment: Environment,
  {
    needed = ['PAYOUTS_ENCRYPTION_KEYS'],
    foreign = [],
    what = '',
    secrets = new Secrets(environment),
  }: KeyRules = {},
): Keys {
  const parts = new Parts();
  const without = Object.fromEntries(foreign.map((name) => [name, undefined]));
  const keys = parts.read(() => readVariables(schema, { ...environment, ...without }));
  const missing = mayRunWithoutKeys(environment) ? [] : needed.filter((name) => !environment[name]);
  parts.report(missing.map((name) => `${name}: ${MISSING[name]}`));
  const given = foreign.filter((name) => environment[name]);
  parts.report(given.map((name) => `${name}: must not be given to ${what}`));
  for (const [name, own] of Object.entries(keys ?? {}))
    for (const key of own?.values() ?? []) parts.report(secrets.add(name, key));
  const { rings } = parts.complete({ rings: keys });
  return {
    payloads: ringOf(rings.PAYOUTS_ENCRYPTION_KEYS),
    tokens: ringOf(rings.PAYOUTS_TOKEN_KEYS),
    authorizations: ringOf(rings.PAYOUTS_AUTHORIZATION_KEYS),
    search: rings.PAYOUTS_SEARCH_KEYS && new SearchKeys(rings.PAYOUTS_SEARCH_KEYS),
  };
}

function ringOf(keys: ReadonlyMap<string, Buffer> | undefined): KeyRing | undefined {
  return keys && new KeyRing(keys);
}

/** Only a test that no other machine can reach may leave payloads unencrypted. */
export function mayRunWithoutKeys(environment: Environment): boolean {
  return isTest(environment) && isLoopback(environment['PAYMENTS_BASE_URL'] ?? '');
}

export interface HashedKey {
  /** SHA-256 of the key, 32 bytes. */
  hash: Buffer;
}

export function keyHash(key: string | Uint8Array): Buffer {
  return createHash('sha256').update(key).digest();
}

/** The key in an `authorization` header. Undefined if the header is missing or has another form. */
export function bearerKey(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

export function findKey<Key extends HashedKey>(keys: readonly Key[], key: string): Key | undefined {
  const given = keyHash(key);
  // Compares with every key, each in constant time, so that the timing reveals nothing about the keys.
  const [known] = keys.filter(({ hash }) => timingSafeEqual(hash, given));
  return known;
}
