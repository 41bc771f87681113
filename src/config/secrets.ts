/**
 * The rule for all secrets of a process. Outside a test, each is unpublished, hard to guess and used once: whoever learns a
 * secret with two uses has both.
 */
import { createHash } from 'node:crypto';
import { type Environment, isTest } from './environment.ts';

/** A text, the bytes of a key, or only the SHA-256 of a text. */
type Secret = string | Uint8Array | { hash: Uint8Array };

/** Of what an operator makes. HMAC-SHA256 needs no less (RFC 2104). */
const OWN_LENGTH = 32;
/** The provider and Temporal choose the length of what they issue. */
export const ISSUED_LENGTH = 16;
/** What a module gets may only name a key, such as one in a vault, or be what the provider uses for several purposes. */
export const ANY_LENGTH = 0;

/** One in ten million random texts of hexadecimal digits has fewer distinct ones. */
const DISTINCT_SHARE = 1 / 4;

export class Secrets {
  readonly #environment: Environment;
  /** The variable or field of each secret, by the hashes of its forms. */
  readonly #names: Map<string, string>;

  constructor(environment: Environment, names: ReadonlyMap<string, string> = new Map()) {
    this.#environment = environment;
    this.#names = new Map(names);
  }

  /** For a file that is read again: its secrets aren't compared with those that it had before. */
  copy(): Secrets {
    return new Secrets(this.#environment, this.#names);
  }

  /** The problems of one more secret. `name` is its variable or field. No problem quotes a secret. */
  add(name: string, secret: Secret, minLength = OWN_LENGTH): string[] {
    if (isTest(this.#environment)) return [];
    const hashes = hashesOf(secret);
    if (hashes.some((hash) => PUBLISHED.has(hash))) return [faultOf(name, 'is published with this project')];
    if (minLength === ANY_LENGTH) return [];
    const other = hashes.map((hash) => this.#names.get(hash)).find((known) => known !== undefined);
    for (const hash of hashes) this.#names.set(hash, name);
    const fault = weakness(secret, minLength) ?? repetition(name, other);
    return fault === undefined ? [] : [faultOf(name, fault)];
  }
}

function faultOf(name: string, fault: string): string {
  return `${name}: ${fault}. Make a new one: only PAYMENTS_ENVIRONMENT=test may use it`;
}

/** Bytes are the same secret as their base64, with and without the prefix of Standard Webhooks. */
function formsOf(secret: string | Uint8Array): Buffer[] {
  const text = typeof secret === 'string' ? secret : Buffer.from(secret).toString('base64');
  const bare = text.replace(/^whs(ec|k)_/, '');
  const bytes = Buffer.from(bare, 'base64');
  const isBase64 = bytes.toString('base64').replace(/=+$/, '') === bare.replace(/=+$/, '');
  return [Buffer.from(text), Buffer.from(bare), ...(isBase64 ? [bytes] : [])];
}

function hashesOf(secret: Secret): string[] {
  if (isHash(secret)) return [Buffer.from(secret.hash).toString('hex')];
  return formsOf(secret).map((form) => createHash('sha256').update(form).digest('hex'));
}

function isHash(secret: Secret): secret is { hash: Uint8Array } {
  return typeof secret === 'object' && 'hash' in secret;
}

/** A hash doesn't show it. */
function weakness(secret: Secret, minLength: number): string | undefined {
  if (isHash(secret)) return undefined;
  const forms = formsOf(secret);
  const [, bare] = forms;
  if (bare !== undefined && bare.length < minLength) return `has fewer than ${minLength} characters`;
  return forms.some((form) => isRegular(form, minLength * DISTINCT_SHARE)) ? 'is not random' : undefined;
}

/** Few distinct bytes, equal steps from byte to byte, or a part that repeats. */
function isRegular(bytes: Uint8Array, minDistinct: number): boolean {
  const steps = bytes.map((byte, at) => byte - (bytes[at - 1] ?? 0)).subarray(1);
  if ([bytes, steps].some((values) => new Set(values).size < minDistinct)) return true;
  const periods = Array.from({ length: Math.floor(bytes.length / 2) }, (_, at) => at + 1);
  return periods.some((period) => Buffer.compare(bytes.subarray(period), bytes.subarray(0, -period)) === 0);
}

function repetition(name: string, other: string | undefined): string | undefined {
  if (other === undefined) return undefined;
  return other === name ? 'has the same secret twice' : `is the same secret as ${other}`;
}

/** Known to anybody: those of the demo, the compose file, the simulator, the fuzzing, the examples, and Standard Webhooks. */
const TEXTS = [
  'demo-secret',
  'trial-starter',
  'trial-approver',
  'trial-notification-secret',
  'fuzz-codec-bearer-key',
  'fuzz-app-secret',
  'fuzz-secret-of-an-application',
  'fuzz-notification-secret',
  'whsec_ZXhhbXBsZS1leGFtcGxlLWV4YW1wbGUtZXhhbXBsZS0=',
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
];
/** Simulated worlds. */
const KEYS = ['c2ltdWxhdGVkLXNpbXVsYXRlZC1zaW11bGF0ZWQtMzI=', 'bmV4dC1uZXh0LW5leHQtbmV4dC1uZXh0LW5leHQtMzI='];
const PUBLISHED: ReadonlySet<string> = new Set([...TEXTS, ...KEYS].flatMap((text) => hashesOf(text)));
