/** Loads what `module:PATH` names: a file whose default export is a function of options. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { PaymentsSettingError } from './errors.ts';
import { safeErrorName } from './redact.ts';

type Callable = (...args: unknown[]) => unknown;

const callable = z.custom<Callable>((value) => typeof value === 'function');
const moduleShape = z.object({ default: callable });

/** Calls the default export with `options`. The path is taken from the working directory. */
export async function loadPlugIn(setting: string, path: string, options: unknown): Promise<unknown> {
  const loaded = moduleShape.safeParse(await importFile(setting, path));
  if (!loaded.success) throw new PaymentsSettingError(setting, 'the module has no default function');
  return loaded.data.default(options);
}

/** `plugIn[name]` bound to it; throws `PaymentsSettingError` when it is no function. */
export function methodOf(setting: string, plugIn: unknown, name: string): Callable {
  const found = z.object({ [name]: callable }).safeParse(plugIn);
  const method = found.success ? found.data[name] : undefined;
  if (!method) throw new PaymentsSettingError(setting, `the module's function gave nothing with ${name}()`);
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
