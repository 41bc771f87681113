/** Secrets that this repository publishes, for trials, the demo and its tests. Only a test may use them. */
import { createHash } from 'node:crypto';
import { type Environment, isTest } from './environment.ts';

const sha256 = (secret: string | Uint8Array) => createHash('sha256').update(secret).digest('hex');

/** The demo and the simulator; `deploy/trial-callers.json` and the pages with its hashes; the fuzzing. */
const TEXTS = ['demo-secret', 'trial-starter', 'trial-approver', 'fuzz-codec-bearer-key', 'fuzz-app-secret'];
/** The example of `PAYOUTS_EVENTS_FILE`; the simulation. */
const EVENT_SECRETS = [
  'whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZS0=',
  'whsec_c2ltdWxhdGVkLXNpbXVsYXRlZC1zaW11bGF0ZWQtMzI=',
];
/** The simulation. */
const KEYS = ['c2ltdWxhdGVkLXNpbXVsYXRlZC1zaW11bGF0ZWQtMzI=', 'bmV4dC1uZXh0LW5leHQtbmV4dC1uZXh0LW5leHQtMzI='];
const PUBLISHED: ReadonlySet<string> = new Set([
  ...[...TEXTS, ...EVENT_SECRETS].map(sha256),
  ...KEYS.map((key) => sha256(Buffer.from(key, 'base64'))),
]);

/** A random key of 32 bytes has fewer with a probability below 1e-30. */
const MIN_DISTINCT_BYTES = 8;

const IS_PUBLISHED =
  'is published with this project: only PAYMENTS_ENVIRONMENT=test may use it. Make your own';

/** `name` names the variable or the field. The secret is the text itself, or `{ hash }`, its SHA-256. */
export function publishedProblems(
  environment: Environment,
  name: string,
  secrets: readonly (string | { hash: Uint8Array })[],
): string[] {
  if (isTest(environment)) return [];
  const hashes = secrets.map((secret) =>
    typeof secret === 'string' ? sha256(secret) : Buffer.from(secret.hash).toString('hex'),
  );
  return hashes.some((hash) => PUBLISHED.has(hash)) ? [`${name}: ${IS_PUBLISHED}`] : [];
}

/** The same for keys of encryption, which must also be random. */
export function keyProblems(environment: Environment, name: string, keys: Iterable<Uint8Array>): string[] {
  if (isTest(environment)) return [];
  const all = [...keys];
  if (all.some((key) => PUBLISHED.has(sha256(key)))) return [`${name}: ${IS_PUBLISHED}`];
  if (all.some((key) => new Set(key).size < MIN_DISTINCT_BYTES))
    return [`${name}: is not random: only PAYMENTS_ENVIRONMENT=test may use it. Make your own`];
  return [];
}
