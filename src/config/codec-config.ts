/** Variables of the codec server. It gets the payload keys and never the token keys. */
import { z } from 'zod';
import type { KeyRing } from '../encryption/key-ring.ts';
import { mayRunWithoutKeys, readKeys } from './encryption.ts';
import { ConfigError, type Environment, problemsOf, readVariables } from './environment.ts';
import {
  drainShape,
  type Listen,
  listenAddress,
  partsOf,
  paymentsEnvironment,
  secret,
  testBaseUrl,
} from './values.ts';

const list = z.string().transform(partsOf);

const origins = list.pipe(
  z.array(z.string().regex(/^https?:\/\/[^/*?#@]+$/, 'must be exact origins, such as https://ui.example')),
);

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
        'The bearer keys with which people sign in, comma-separated, each of at least 16 characters. Each of them is valid, so that you can rotate them.',
      requiredWhen:
        'unless `PAYMENTS_ENVIRONMENT=test`, and both the server and `PAYMENTS_BASE_URL` are on loopback',
    }),
  PAYOUTS_CODEC_ORIGINS: origins.default([]).meta({
    description:
      'The exact origins of the Temporal UIs that may request decoded payloads, such as `https://ui.example`. Without it, browsers refuse every cross-origin request.',
    valueType: 'origins, comma-separated',
  }),
  PAYMENTS_ENVIRONMENT: paymentsEnvironment
    .optional()
    .describe('Whether this is a test, which may start without `PAYOUTS_CODEC_KEYS` on loopback.'),
  PAYMENTS_BASE_URL: testBaseUrl,
  ...drainShape,
};

const schema = z.object(codecShape);

export interface CodecConfig {
  listen: Listen;
  /** Bearer keys, each of them valid. Empty only in a test on loopback, which requires none. */
  keys: readonly string[];
  origins: readonly string[];
  ring: KeyRing;
  /** `PAYOUTS_DRAIN`. */
  drainMs: number;
}

/** Throws `ConfigError`. */
export function codecConfig(environment: Environment): CodecConfig {
  const own = readVariables(schema, environment);
  const { PAYOUTS_TOKEN_KEYS: tokenKeys, ...rest } = environment;
  const keys = readKeys(rest);
  const ring = keys.ok ? keys.value.payloads : undefined;
  const problems = problemsOf(own, keys);
  // The codec server does not use them, so it could only leak them.
  if (tokenKeys) problems.push('PAYOUTS_TOKEN_KEYS: must not be given to the codec server');
  if (keys.ok && !ring) problems.push('PAYOUTS_ENCRYPTION_KEYS: is missing: it decodes payloads');
  if (own.ok) problems.push(...bearerKeyProblems(own.value, environment));
  if (!own.ok || !ring || problems.length > 0) throw new ConfigError(problems);
  const {
    PAYOUTS_CODEC_LISTEN: listen,
    PAYOUTS_CODEC_KEYS,
    PAYOUTS_CODEC_ORIGINS,
    PAYOUTS_DRAIN,
  } = own.value;
  return { listen, keys: PAYOUTS_CODEC_KEYS, origins: PAYOUTS_CODEC_ORIGINS, ring, drainMs: PAYOUTS_DRAIN };
}

function bearerKeyProblems(env: z.output<typeof schema>, environment: Environment): string[] {
  const loopback = ['127.0.0.1', '::1', 'localhost'].includes(env.PAYOUTS_CODEC_LISTEN.host);
  if (env.PAYOUTS_CODEC_KEYS.length > 0 || (loopback && mayRunWithoutKeys(environment))) return [];
  return ['PAYOUTS_CODEC_KEYS: is missing: only a test on loopback may run without it'];
}
