/** What the codec server reads from its environment: the payload keys, and never the token keys. */
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import type { KeyRing } from '../encryption/key-ring.ts';
import { ConfigError } from './config-error.ts';
import { mayGoWithout, readKeys } from './encryption.ts';
import { type Environment, httpUrl, paymentsEnvironment, withoutEmpty } from './environment.ts';
import { type Listen, listenAddress } from './listen.ts';
import { secret } from './secret.ts';

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);

const origins = list.pipe(
  z.array(z.string().regex(/^https?:\/\/[^/*?#@]+$/, 'must be exact origins, such as https://ui.example')),
);

const KEYLESS =
  'unless `PAYMENTS_ENVIRONMENT=test`, and both the server and `PAYMENTS_BASE_URL` are on loopback';

export const codecShape = {
  PAYOUTS_CODEC_LISTEN: listenAddress
    .prefault('127.0.0.1:8081')
    .describe('The address that the codec server listens on.'),
  PAYOUTS_CODEC_KEYS: secret
    .pipe(list)
    .pipe(z.array(z.string().min(16, 'must have 16 characters or more')))
    .default([])
    .meta({
      description:
        'The bearer keys with which people sign in, comma-separated, each of at least 16 characters. Each of them is valid, so that they can rotate.',
      requiredWhen: KEYLESS,
    }),
  PAYOUTS_CODEC_ORIGINS: origins.default([]).meta({
    description:
      'The exact origins of the Temporal UIs that may ask for decoded payloads, such as `https://ui.example`. Without it, browsers refuse every cross-origin request.',
    valueType: 'origins, comma-separated',
  }),
  PAYMENTS_ENVIRONMENT: paymentsEnvironment
    .optional()
    .describe('Whether this is a test, which may start without `PAYOUTS_CODEC_KEYS` on loopback.'),
  PAYMENTS_BASE_URL: httpUrl
    .optional()
    .describe(
      'The same as for the workers. The codec server does not call it: it only tells a loopback test.',
    ),
};

const schema = z.object(codecShape);

export interface CodecConfig {
  listen: Listen;
  /** Bearer keys, each of them valid. Empty only in a test on loopback, which asks for none. */
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
    ...(parsed.success ? keyProblems(parsed.data, environment) : []),
  ];
  const ring = keys.ok ? keys.value.payloads : undefined;
  if (!parsed.success || !ring || problems.length > 0) throw new ConfigError([...new Set(problems)]);
  const { PAYOUTS_CODEC_LISTEN, PAYOUTS_CODEC_KEYS, PAYOUTS_CODEC_ORIGINS } = parsed.data;
  return { listen: PAYOUTS_CODEC_LISTEN, keys: PAYOUTS_CODEC_KEYS, origins: PAYOUTS_CODEC_ORIGINS, ring };
}

function keyProblems(env: z.output<typeof schema>, environment: Environment): string[] {
  const loopback = ['127.0.0.1', '::1', 'localhost'].includes(env.PAYOUTS_CODEC_LISTEN.host);
  if (env.PAYOUTS_CODEC_KEYS.length > 0 || (loopback && mayGoWithout(environment))) return [];
  return ['PAYOUTS_CODEC_KEYS: is missing: only a test on loopback may decode for everybody'];
}
