/** The applications that a worker acts for: one from the environment, or several from a file. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { appName, fieldErrors } from '../contract/payout-request.ts';
import { NotJsonError, readPlainJson } from '../payments/exact-json.ts';
import type { Read } from './config-error.ts';
import { type Environment, httpUrl, withoutEmpty } from './environment.ts';
import { readSecret, secret } from './secret.ts';

/** One set of the provider's credentials. `appSecret` never leaves worker processes. */
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

const callsPerSecond = z.number().int().min(1);

/** One entry of `PAYOUTS_APPS_FILE`. */
export const applicationEntry = z.strictObject({
  appId: appId.describe(
    "The provider's `app_id`. Every entry needs another one: the rate limit belongs to it.",
  ),
  appSecret: z
    .string()
    .regex(/^(env|file):.+/, 'must be a reference: env:NAME or file:PATH')
    .meta({
      description: "The provider's `app_secret`, by reference: the file never holds the secret itself.",
      valueType: '`env:NAME` or `file:PATH`',
    }),
  redirectUri: httpUrl
    .optional()
    .describe('The redirect URI that is registered with the provider, as `PAYMENTS_REDIRECT_URI`.'),
  callsPerSecond: callsPerSecond
    .optional()
    .describe('The rate limit of this `app_id`. Without it, `PAYMENTS_CALLS_PER_SECOND` counts.'),
});

export const applicationsFile = z.record(appName, applicationEntry);

const UNLESS_FILE = 'unless `PAYOUTS_APPS_FILE` is set';

/** One application by itself is named `default`. */
const oneApplication = {
  PAYMENTS_APP_ID: appId.optional().meta({
    description:
      "The provider's `app_id`. Its application is named `default`. Spec: Token exchange and refresh, Application token.",
    requiredWhen: UNLESS_FILE,
  }),
  PAYMENTS_APP_SECRET: secret.optional().meta({
    description:
      "The provider's `app_secret` for `PAYMENTS_APP_ID`. Give it to workers only. Spec: Token exchange and refresh, Application token.",
    requiredWhen: UNLESS_FILE,
  }),
  PAYMENTS_REDIRECT_URI: httpUrl
    .optional()
    .describe(
      'The redirect URI that is registered with the provider: `https://HOST/v1/oauth/default/callback` of the API server. Only the user authorization needs it. Spec: Authorization parameters.',
    ),
};

export const applicationShape = {
  ...oneApplication,
  PAYOUTS_APPS_FILE: z.string().optional().meta({
    description:
      'A JSON file of several applications: see [PAYOUTS_APPS_FILE](#payouts_apps_file). It replaces `PAYMENTS_APP_ID`, `PAYMENTS_APP_SECRET` and `PAYMENTS_REDIRECT_URI`.',
    valueType: 'path',
  }),
};

const schema = z.object(oneApplication);

export function readApplications(environment: Environment): Read<ReadonlyMap<string, Application>> {
  const present = withoutEmpty(environment);
  const file = present['PAYOUTS_APPS_FILE'];
  return file === undefined ? fromEnvironment(present) : fromFile(file, environment);
}

function fromEnvironment(environment: Environment): Read<ReadonlyMap<string, Application>> {
  const missing = (['PAYMENTS_APP_ID', 'PAYMENTS_APP_SECRET'] as const).filter(
    (name) => environment[name] === undefined,
  );
  const parsed = schema.safeParse(environment);
  const problems = [
    ...missing.map((name) => `${name}: is missing (or set PAYOUTS_APPS_FILE)`),
    ...(parsed.success ? [] : fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`)),
  ];
  if (!parsed.success || problems.length > 0) return { ok: false, problems };
  const { PAYMENTS_APP_ID: id, PAYMENTS_APP_SECRET: appSecret, PAYMENTS_REDIRECT_URI } = parsed.data;
  if (id === undefined || appSecret === undefined) return { ok: false, problems };
  const application = { name: 'default', appId: id, appSecret, redirectUri: PAYMENTS_REDIRECT_URI };
  return { ok: true, value: new Map([[application.name, application]]) };
}

function fromFile(path: string, environment: Environment): Read<ReadonlyMap<string, Application>> {
  let content: unknown;
  try {
    content = readPlainJson(readFileSync(path));
  } catch (error) {
    const why = error instanceof NotJsonError ? `: ${error.message}` : '';
    return { ok: false, problems: [`PAYOUTS_APPS_FILE: ${path} cannot be read as JSON${why}`] };
  }
  const parsed = applicationsFile.safeParse(content);
  if (!parsed.success)
    return {
      ok: false,
      problems: fieldErrors(parsed.error).map((e) => `PAYOUTS_APPS_FILE: ${e.path} ${e.message}`),
    };
  const problems = repeatedAppIds(parsed.data);
  const applications = new Map<string, Application>();
  for (const [name, entry] of Object.entries(parsed.data)) {
    const appSecret = resolveSecret(entry.appSecret, environment);
    if (appSecret.ok) applications.set(name, { ...entry, name, appSecret: appSecret.value });
    else problems.push(...appSecret.problems.map((why) => `PAYOUTS_APPS_FILE: ${name}.appSecret ${why}`));
  }
  if (applications.size === 0 && problems.length === 0)
    problems.push('PAYOUTS_APPS_FILE: names no application');
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: applications };
}

/**
 * The provider limits an `app_id`, not our name for it. Under two names one process would own one lease and wait for the
 * same one, and a caller could start one payout twice, once under each name.
 */
function repeatedAppIds(entries: z.output<typeof applicationsFile>): string[] {
  const names = new Map<string, string>();
  return Object.entries(entries).flatMap(([name, entry]) => {
    const first = names.get(entry.appId);
    names.set(entry.appId, first ?? name);
    return first === undefined ? [] : [`PAYOUTS_APPS_FILE: ${name}.appId is the same as ${first}.appId`];
  });
}

/** Every object has properties such as `toString`, which are no variables. */
function variable(environment: Environment, name: string): string | undefined {
  return (Object.hasOwn(environment, name) && environment[name]) || undefined;
}

function resolveSecret(reference: string, environment: Environment): Read<string> {
  if (!reference.startsWith('env:')) return readSecret(reference);
  const text = variable(environment, reference.slice('env:'.length));
  return text === undefined
    ? { ok: false, problems: ['cannot be read from its reference'] }
    : readSecret(text);
}
