/** The keys of a process, and the one place that decides whether it may do without. */
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import { KeyRing } from '../encryption/key-ring.ts';
import { ConfigError, type Read } from './config-error.ts';
import { type Environment, isLoopback, withoutEmpty } from './environment.ts';

const KEY_BYTES = 32;
/** No dot, which separates the parts of a sealed token. */
const KEY_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** `keyId:base64(32 bytes)[,keyId:…]`; nothing of a key is ever quoted. */
const keyRing = z.string().transform((text, context): KeyRing => {
  const keys = new Map<string, Buffer>();
  for (const entry of text.split(',')) {
    const [keyId = '', base64 = ''] = entry.trim().split(':');
    const key = Buffer.from(base64, 'base64');
    if (KEY_ID.test(keyId) && key.length === KEY_BYTES && !keys.has(keyId)) keys.set(keyId, key);
    else context.addIssue({ code: 'custom', message: 'must be keyId:base64(32 bytes) pairs, each id once' });
  }
  return keys.size > 0 ? new KeyRing(keys) : z.NEVER;
});

const schema = z
  .object({
    PAYMENTS_ENVIRONMENT: z.string().optional(),
    PAYMENTS_BASE_URL: z.string().optional(),
    PAYOUTS_ENCRYPTION_KEYS: keyRing.optional(),
    PAYOUTS_TOKEN_KEYS: keyRing.optional(),
  })
  .superRefine((env, context) => {
    if (env.PAYOUTS_ENCRYPTION_KEYS || mayGoWithout(env)) return;
    context.addIssue({
      code: 'custom',
      path: ['PAYOUTS_ENCRYPTION_KEYS'],
      message: 'is missing: only PAYMENTS_ENVIRONMENT=test with a loopback PAYMENTS_BASE_URL may go without',
    });
  });

export interface Keys {
  /** Payloads; undefined in a test against loopback that does without. */
  payloads: KeyRing | undefined;
  /** Tokens, sealed a second time. */
  tokens: KeyRing | undefined;
}

/** Throws `ConfigError` when the keys are bad, or missing where they are needed. */
export function encryptionKeys(environment: Environment): Keys {
  const keys = readKeys(environment);
  if (!keys.ok) throw new ConfigError(keys.problems);
  return keys.value;
}

export function readKeys(environment: Environment): Read<Keys> {
  const parsed = schema.safeParse(withoutEmpty(environment));
  if (!parsed.success)
    return {
      ok: false,
      problems: fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`),
    };
  const { PAYOUTS_ENCRYPTION_KEYS: payloads, PAYOUTS_TOKEN_KEYS: tokens } = parsed.data;
  return { ok: true, value: { payloads, tokens } };
}

export function mayGoWithout(env: {
  PAYMENTS_ENVIRONMENT?: string | undefined;
  PAYMENTS_BASE_URL?: string | undefined;
}): boolean {
  return env.PAYMENTS_ENVIRONMENT === 'test' && isLoopback(env.PAYMENTS_BASE_URL ?? '');
}
