/** The applications a worker acts for: one from the environment, or several from a file. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { appName, fieldErrors } from '../contract/payout-request.ts';
import { NotJsonError, readPlainJson } from '../payments/exact-json.ts';
import type { Read } from './config-error.ts';
import type { Environment } from './environment.ts';

/** One application of the payments service. `appSecret` never leaves worker processes. */
export interface Application {
  name: string;
  appId: string;
  appSecret: string;
  redirectUri?: string | undefined;
  callsPerSecond?: number | undefined;
}

/** Part of workflow ids and queue names. A stray space would make two rate limits of one. */
const appId = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable ASCII characters without spaces');

const fileSchema = z.record(
  appName,
  z.strictObject({
    appId,
    appSecret: z.string().regex(/^(env|file):.+/, 'must be a reference: env:NAME or file:PATH'),
    redirectUri: z.url().optional(),
    callsPerSecond: z.number().int().min(1).optional(),
  }),
);

export function readApplications(environment: Environment): Read<ReadonlyMap<string, Application>> {
  const file = environment['PAYOUTS_APPS_FILE'];
  return file ? fromFile(file, environment) : fromEnvironment(environment);
}

function fromEnvironment(environment: Environment): Read<ReadonlyMap<string, Application>> {
  const id = environment['PAYMENTS_APP_ID'];
  const appSecret = environment['PAYMENTS_APP_SECRET'];
  if (!id || !appSecret) {
    const missing = [!id && 'PAYMENTS_APP_ID', !appSecret && 'PAYMENTS_APP_SECRET'].filter(
      (key) => key !== false,
    );
    return { ok: false, problems: missing.map((key) => `${key}: is missing (or set PAYOUTS_APPS_FILE)`) };
  }
  const parsed = appId.safeParse(id);
  if (!parsed.success)
    return { ok: false, problems: fieldErrors(parsed.error).map((e) => `PAYMENTS_APP_ID: ${e.message}`) };
  const redirectUri = environment['PAYMENTS_REDIRECT_URI'] || undefined;
  const application = { name: 'default', appId: parsed.data, appSecret, redirectUri };
  return { ok: true, value: new Map([['default', application]]) };
}

function fromFile(path: string, environment: Environment): Read<ReadonlyMap<string, Application>> {
  let content: unknown;
  try {
    content = readPlainJson(readFileSync(path));
  } catch (error) {
    const why = error instanceof NotJsonError ? `: ${error.message}` : '';
    return { ok: false, problems: [`PAYOUTS_APPS_FILE: ${path} cannot be read as JSON${why}`] };
  }
  const parsed = fileSchema.safeParse(content);
  if (!parsed.success)
    return {
      ok: false,
      problems: fieldErrors(parsed.error).map((e) => `PAYOUTS_APPS_FILE: ${e.path} ${e.message}`),
    };
  const problems = repeatedAppIds(parsed.data);
  const applications = new Map<string, Application>();
  for (const [name, entry] of Object.entries(parsed.data)) {
    const appSecret = resolveSecret(entry.appSecret, environment);
    if (appSecret === undefined)
      problems.push(`PAYOUTS_APPS_FILE: ${name}.appSecret cannot be read from its reference`);
    else applications.set(name, { ...entry, name, appSecret });
  }
  if (applications.size === 0 && problems.length === 0)
    problems.push('PAYOUTS_APPS_FILE: names no application');
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: applications };
}

/**
 * The provider limits an `app_id`, not our name for it. Under two names one process would own one lease and wait for the
 * same one, and a caller could start one payout twice, once under each name.
 */
function repeatedAppIds(entries: z.output<typeof fileSchema>): string[] {
  const names = new Map<string, string>();
  return Object.entries(entries).flatMap(([name, entry]) => {
    const first = names.get(entry.appId);
    names.set(entry.appId, first ?? name);
    return first === undefined ? [] : [`PAYOUTS_APPS_FILE: ${name}.appId is the same as ${first}.appId`];
  });
}

/** Every object answers to names such as `toString`, and not with a text. */
function variable(environment: Environment, name: string): string | undefined {
  return (Object.hasOwn(environment, name) && environment[name]) || undefined;
}

function resolveSecret(reference: string, environment: Environment): string | undefined {
  if (reference.startsWith('env:')) return variable(environment, reference.slice('env:'.length));
  try {
    return readFileSync(reference.slice('file:'.length), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
