/** Variables of the codec server. It gets the payload keys and never the token keys. */
import { z } from 'zod';
import type { KeyRing } from '../encryption/key-ring.ts';
import { type Environment, isTest, Parts, readVariables } from './environment.ts';
import { encryptionKeys, type HashedKey, keyHash, mayRunWithoutKeys } from './keys.ts';
import { Secrets } from './secrets.ts';
import {
  addressProblems,
  allowedHostsShape,
  drainShape,
  listenAddress,
  listensOnLoopback,
  logFormatShape,
  partsOf,
  paymentsEnvironment,
  proxies,
  secret,
  testBaseUrl,
} from './values.ts';

interface NamedKey {
  name: string;
  key: string;
}

const list = z.string().transform(partsOf);

const origins = list.pipe(
  z.array(z.string().regex(/^https?:\/\/[^/*?#@]+$/, 'must be exact origins, such as https://ui.example')),
);

/** `name:key`. Its issues never quote a key. */
const namedKeys = list.transform((entries, context): NamedKey[] => {
  const keys = entries.map((entry) => {
    const [, name = '', key = ''] = /^([a-z0-9-]{1,32}):([\x21-\x7e]{16,})$/.exec(entry) ?? [];
    return { name, key };
  });
  const count = (wanted: (key: NamedKey) => boolean) => keys.filter(wanted).length;
  const fail = (message: string) => context.addIssue({ code: 'custom', message });
  if (keys.some(({ name }) => name === ''))
    fail(
      'must be name:key pairs: a name of 1 to 32 lowercase letters, digits and hyphens, and a key of 16 characters or more, without spaces',
    );
  else if (keys.some(({ key }) => count((other) => other.key === key) > 1)) fail('must have each key once');
  else if (keys.some(({ name }) => count((other) => other.name === name) > 2))
    fail('must have at most two keys for each name');
  return keys;
});

export const codecShape = {
  PAYOUTS_CODEC_LISTEN: listenAddress.prefault('127.0.0.1:8081').describe('Where the codec server listens.'),
  PAYOUTS_CODEC_KEYS: secret.pipe(namedKeys).default([]).meta({
    description:
      'The bearer keys that decode payloads: `name:key[,name:key]`. A name has 1 to 32 lowercase letters, digits and hyphens, and is logged with each request; it may have two keys, for rotation. A key has at least 32 characters; in a test, 16.',
    requiredWhen:
      'unless `PAYMENTS_ENVIRONMENT=test`, and both the server and `PAYMENTS_BASE_URL` are on loopback',
  }),
  PAYOUTS_CODEC_PROXIES: proxies('Failed sign-ins are'),
  PAYOUTS_CODEC_ORIGINS: origins.default([]).meta({
    description:
      'The exact origins of your Temporal UIs, such as `https://ui.example`. Without it, browsers block them.',
    valueType: 'origins, comma-separated',
  }),
  PAYMENTS_ENVIRONMENT: paymentsEnvironment
    .optional()
    .describe(
      'Whether this is a test, which may start on loopback without `PAYOUTS_CODEC_KEYS`, and whose cookie works over HTTP.',
    ),
  PAYMENTS_BASE_URL: testBaseUrl,
  ...allowedHostsShape,
  ...drainShape,
  ...logFormatShape,
};

const schema = z.object(codecShape);

export interface CodecKey extends HashedKey {
  name: string;
}

export type CodecConfig = Omit<z.output<typeof schema>, 'PAYOUTS_CODEC_KEYS'> & {
  keys: CodecKey[];
  ring: KeyRing;
  /** Browsers send the cookie of a session over HTTPS only, except in a test on loopback. */
  secureCookie: boolean;
};

/** Throws `ConfigError`. */
export function codecConfig(environment: Environment): CodecConfig {
  const parts = new Parts();
  const secrets = new Secrets(environment);
  const own = parts.read(() => readVariables(schema, environment));
  const foreign = ['PAYOUTS_TOKEN_KEYS', 'PAYOUTS_AUTHORIZATION_KEYS', 'PAYOUTS_SEARCH_KEYS'] as const;
  const encryption = parts.read(() =>
    encryptionKeys(environment, { foreign, what: 'the codec server', secrets }),
  );
  const ring = encryption?.payloads;
  parts.report(addressProblems(environment));
  if (encryption && !ring) parts.report(['PAYOUTS_ENCRYPTION_KEYS: is missing: it decodes payloads']);
  const isLocal = own !== undefined && listensOnLoopback(own.PAYOUTS_CODEC_LISTEN);
  const { PAYOUTS_CODEC_KEYS: codecKeys = [] } = own ?? {};
  if (own && codecKeys.length === 0 && !(isLocal && mayRunWithoutKeys(environment)))
    parts.report(['PAYOUTS_CODEC_KEYS: is missing: only a test on loopback may run without it']);
  parts.report(codecKeys.flatMap(({ key }) => secrets.add('PAYOUTS_CODEC_KEYS', key)));
  const read = parts.complete({ own, ring });
  const { PAYOUTS_CODEC_KEYS: texts, ...rest } = read.own;
  const keys = texts.map(({ name, key }) => ({ name, hash: keyHash(key) }));
  return { ...rest, keys, ring: read.ring, secureCookie: !(isLocal && isTest(environment)) };
}
