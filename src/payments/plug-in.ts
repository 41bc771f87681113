/** Loads what a setting names: the module of `module:PATH`, whose default export is a function of options, or an RSA key. */
import type { createPrivateKey, createPublicKey, KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { PaymentsSettingError } from './errors.ts';
import { safeErrorName } from './redact.ts';

type Callable = (...args: unknown[]) => unknown;

const callable = z.custom<Callable>((value) => typeof value === 'function');
const moduleShape = z.object({ default: callable });

/**
 * Calls the default export with `options`. A relative path starts at the working directory. Throws
 * `PaymentsSettingError`.
 */
export async function loadPlugIn(setting: string, path: string, options: unknown): Promise<unknown> {
  const loaded = moduleShape.safeParse(await importFile(setting, path));
  if (!loaded.success)
    throw new PaymentsSettingError(setting, 'the default export of the module is not a function');
  return loaded.data.default(options);
}

/** The method `name`, bound to `plugIn`. Throws `PaymentsSettingError` if it is not a function. */
export function methodOf(setting: string, plugIn: unknown, name: string): Callable {
  const found = z.object({ [name]: callable }).safeParse(plugIn);
  const method = found.success ? found.data[name] : undefined;
  if (!method)
    throw new PaymentsSettingError(
      setting,
      `the default export of the module must return an object with ${name}()`,
    );
  return method.bind(plugIn);
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
