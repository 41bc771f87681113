/**
 * Signs the requests under `/v1/mid-open-api`, and loads what a setting names: a module or an RSA key. The spec (Authentication)
 * defines neither the algorithm nor the signed content nor the header. The built-in signers sign
 * `METHOD\npath\ntimestamp\nbody`; `module:PATH` implements any other scheme.
 */
import { createHmac, createPrivateKey, type createPublicKey, createSign, type KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { PaymentsSettingError, safeErrorName } from './errors.ts';

interface SigningInput {
  method: string;
  /** The path on the wire, without the query. */
  path: string;
  /** The exact bytes of the body. */
  body: Buffer;
  /** Unix milliseconds. */
  timestamp: number;
}

/** Returns the headers to add. They cannot replace the client's own headers. */
export interface RequestSigner {
  sign(input: SigningInput): Record<string, string> | Promise<Record<string, string>>;
}

const SETTING = 'PAYMENTS_SIGNER';

const RESERVED =
  /^(host|authorization|connection|content-.*|transfer-encoding|x-request-id|accept|user-agent)$/;

/** The headers that a module's signer may return: plain names, and values of printable ASCII characters. */
const signedHeaders = z.record(
  z
    .string()
    .regex(/^[A-Za-z0-9-]{1,64}$/)
    .refine((name) => !RESERVED.test(name.toLowerCase())),
  z.string().regex(/^[\x20-\x7e]{1,8192}$/),
);

/**
 * Creates a signer: `none`, `hmac-sha256` (key: text), `rsa-sha256` (key: private key in PEM) or `module:PATH`, whose
 * default export is called with `{ key }` and returns a `RequestSigner`. Throws `PaymentsSettingError`.
 */
export async function createSigner(setting: string, key?: string): Promise<RequestSigner> {
  if (setting === 'none') return { sign: () => ({}) };
  if (setting === 'hmac-sha256') {
    const secret = requireKey(key);
    return builtInSigner((content) => createHmac('sha256', secret).update(content).digest('base64'));
  }
  if (setting === 'rsa-sha256') {
    const secret = rsaKey('PAYMENTS_SIGNING_KEY', 'an RSA private key', createPrivateKey, requireKey(key));
    return builtInSigner((content) => createSign('sha256').update(content).sign(secret, 'base64'));
  }
  if (setting.startsWith('module:')) return moduleSigner(setting.slice('module:'.length), key);
  throw new PaymentsSettingError(SETTING, 'must be none, hmac-sha256, rsa-sha256 or module:PATH');
}

/** The content that the built-in signers sign. */
export function signedContent({ method, path, body, timestamp }: SigningInput): Buffer {
  return Buffer.concat([Buffer.from(`${method}\n${path}\n${timestamp}\n`), body]);
}

/** Adds `x-signature` in base64, and `x-timestamp` in Unix milliseconds. */
function builtInSigner(sign: (content: Buffer) => string): RequestSigner {
  return {
    sign: (input) => ({
      'x-signature': sign(signedContent(input)),
      'x-timestamp': String(input.timestamp),
    }),
  };
}

async function moduleSigner(path: string, key: string | undefined): Promise<RequestSigner> {
  const sign = await plugInMethod(SETTING, path, { key }, 'sign');
  return { sign: async (input) => signedHeaders.parse(await sign(input)) };
}

function requireKey(key: string | undefined): string {
  if (key === undefined || key === '') throw new PaymentsSettingError('PAYMENTS_SIGNING_KEY', 'is required');
  return key;
}

type Callable = (...args: unknown[]) => unknown;

const callable = z.custom<Callable>((value) => typeof value === 'function');
const moduleShape = z.object({ default: callable });

/**
 * Calls the default export of the module with `options`, and returns the method `name` of what that returns. A relative path
 * starts at the working directory. Throws `PaymentsSettingError`.
 */
export async function plugInMethod(
  setting: string,
  path: string,
  options: unknown,
  name: string,
): Promise<Callable> {
  const loaded = moduleShape.safeParse(await importFile(setting, path));
  if (!loaded.success)
    throw new PaymentsSettingError(setting, 'the default export of the module is not a function');
  const plugIn = await loaded.data.default(options);
  const found = z.object({ [name]: callable }).safeParse(plugIn);
  const method = found.success ? found.data[name] : undefined;
  if (method) return method.bind(plugIn);
  const problem = `the default export of the module must return an object with ${name}()`;
  throw new PaymentsSettingError(setting, problem);
}

async function importFile(setting: string, path: string): Promise<unknown> {
  try {
    const loaded: unknown = await import(pathToFileURL(resolve(path)).href);
    return { ...z.looseObject({}).parse(loaded) };
  } catch (error) {
    throw new PaymentsSettingError(setting, `the module cannot be loaded (${safeErrorName(error)})`);
  }
}

/** An RSA key in PEM. Throws `PaymentsSettingError`, whose message does not contain the key. */
export function rsaKey(
  setting: string,
  expected: 'an RSA private key' | 'RSA public keys',
  parse: typeof createPrivateKey | typeof createPublicKey,
  pem: string,
): KeyObject {
  try {
    const key = parse(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The same error as for another kind of key.
  }
  throw new PaymentsSettingError(setting, `must be ${expected} in PEM`);
}
