/** What the codec server reads from its environment: the payload keys, and never the token keys. */
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import type { KeyRing } from '../encryption/key-ring.ts';
import { ConfigError } from './config-error.ts';
import { mayGoWithout, readKeys } from './encryption.ts';
import { type Environment, withoutEmpty } from './environment.ts';
import { type Listen, listenAddress } from './listen.ts';

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);

const origins = list.pipe(
  z.array(z.string().regex(/^https?:\/\/[^/*?#@]+$/, 'must be exact origins, such as https://ui.example')),
);

const schema = z.object({
  PAYMENTS_ENVIRONMENT: z.string().optional(),
  PAYMENTS_BASE_URL: z.string().optional(),
  PAYOUTS_CODEC_LISTEN: listenAddress.default({ host: '127.0.0.1', port: 8081 }),
  PAYOUTS_CODEC_KEYS: list.pipe(z.array(z.string().min(16, 'must have 16 characters or more'))).default([]),
  PAYOUTS_CODEC_ORIGINS: origins.default([]),
});

export interface CodecConfig {
  listen: Listen;
  /** Bearer keys, each of them good. Empty only in a test on loopback: then nobody is asked for one. */
  keys: readonly string[];
  origins: readonly string[];
  ring: KeyRing;
}

/** Throws `ConfigError`. */
export function codecConfig(environment: Environment): CodecConfig {
  const parsed = schema.safeParse(withoutEmpty(environment));
  // Held by a process that has no use for them, they could only leak.
  const { PAYOUTS_TOKEN_KEYS: _notForThisProcess, ...rest } = environment;
  const keys = readKeys(rest);
  const problems = [
    ...(parsed.success ? [] : fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`)),
    ...(keys.ok ? [] : keys.problems),
    ...(environment['PAYOUTS_TOKEN_KEYS']
      ? ['PAYOUTS_TOKEN_KEYS: must not be given to the codec server']
      : []),
    ...(keys.ok && !keys.value.payloads
      ? ['PAYOUTS_ENCRYPTION_KEYS: is missing: there is nothing to decode']
      : []),
    ...(parsed.success ? keyProblems(parsed.data) : []),
  ];
  const ring = keys.ok ? keys.value.payloads : undefined;
  if (!parsed.success || !ring || problems.length > 0) throw new ConfigError([...new Set(problems)]);
  const { PAYOUTS_CODEC_LISTEN, PAYOUTS_CODEC_KEYS, PAYOUTS_CODEC_ORIGINS } = parsed.data;
  return { listen: PAYOUTS_CODEC_LISTEN, keys: PAYOUTS_CODEC_KEYS, origins: PAYOUTS_CODEC_ORIGINS, ring };
}

function keyProblems(env: z.output<typeof schema>): string[] {
  const loopback = ['127.0.0.1', '::1', 'localhost'].includes(env.PAYOUTS_CODEC_LISTEN.host);
  if (env.PAYOUTS_CODEC_KEYS.length > 0 || (loopback && mayGoWithout(env))) return [];
  return ['PAYOUTS_CODEC_KEYS: is missing: only a test on loopback may decode for everybody'];
}
