/** The applications of a worker: one from the environment, or several from a file. */
import { z } from 'zod';
import { appName } from '../contract/fields.ts';
import { ConfigError, type Environment, Parts, readVariables } from './environment.ts';
import { jsonFile } from './json-file.ts';
import { ISSUED_LENGTH, Secrets } from './secrets.ts';
import { httpUrl, optionalText, readReference, referenceToSecret, secret } from './values.ts';

/** Part of workflow ids and queue names. With a stray space, one `app_id` would have two rate limits. */
const appId = z
  .string()
  .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable ASCII characters without spaces');

export const applicationEntry = z.strictObject({
  appId: appId.describe(
    "The provider's `app_id`, unique in the file. It can't [change](operations.md#a-new-app_id).",
  ),
  appSecret: referenceToSecret.meta({
    description: "Where the provider's `app_secret` is. Never the secret itself.",
    valueType: '`env:NAME` or `file:PATH`',
  }),
  redirectUri: httpUrl
    .optional()
    .describe("As `PAYMENTS_REDIRECT_URI`, with the application's name instead of `default`."),
  callsPerSecond: z
    .int()
    .min(1)
    .optional()
    .describe('The rate limit of this `app_id`. Default: `PAYMENTS_CALLS_PER_SECOND`.'),
});

/** One set of the provider's credentials, with the secret itself. `appSecret` never leaves worker processes. */
export type Application = z.output<typeof applicationEntry> & { name: string };

export const applicationsFile = z.record(appName, applicationEntry);

const FILE = 'PAYOUTS_APPS_FILE';
const UNLESS_FILE = 'unless `PAYOUTS_APPS_FILE` is set';

const MISSING = 'is missing (or set PAYOUTS_APPS_FILE)';

const oneApplication = {
  PAYMENTS_APP_ID: z.string(MISSING).pipe(appId).meta({
    description:
      "The provider's `app_id`, for the application `default`. It can't [change](operations.md#a-new-app_id). Spec: Token exchange and refresh, Application token.",
    requiredWhen: UNLESS_FILE,
  }),
  PAYMENTS_APP_SECRET: z.string(MISSING).pipe(secret).meta({
    description:
      "The provider's `app_secret`. For workers only. Spec: Token exchange and refresh, Application token.",
    requiredWhen: UNLESS_FILE,
    valueType: 'secret',
  }),
  PAYMENTS_REDIRECT_URI: httpUrl
    .optional()
    .describe(
      "The redirect URI registered with the provider, for user authorizations: the API server's `https://HOST/v1/oauth/default/callback`. Spec: Authorization parameters.",
    ),
};

export const applicationShape = {
  ...oneApplication,
  PAYOUTS_APPS_FILE: optionalText(
    '[A JSON file of applications](#payouts_apps_file), instead of `PAYMENTS_APP_ID`, `PAYMENTS_APP_SECRET` and `PAYMENTS_REDIRECT_URI`.',
    'path',
  ),
};

/** By name. Throws `ConfigError`. */
export function readApplications(
  environment: Environment,
  secrets = new Secrets(environment),
): ReadonlyMap<string, Application> {
  const { PAYOUTS_APPS_FILE: file } = environment;
  return file ? fromFile(file, environment, secrets) : fromEnvironment(environment, secrets);
}

function fromEnvironment(environment: Environment, secrets: Secrets): ReadonlyMap<string, Application> {
  const own = readVariables(z.object(oneApplication), environment);
  const { PAYMENTS_APP_ID, PAYMENTS_APP_SECRET: appSecret, PAYMENTS_REDIRECT_URI: redirectUri } = own;
  const problems = secrets.add('PAYMENTS_APP_SECRET', appSecret, ISSUED_LENGTH);
  if (problems.length > 0) throw new ConfigError(problems);
  return new Map([['default', { name: 'default', appId: PAYMENTS_APP_ID, appSecret, redirectUri }]]);
}

function fromFile(
  path: string,
  environment: Environment,
  secrets: Secrets,
): ReadonlyMap<string, Application> {
  const file = jsonFile(FILE, path, applicationsFile);
  const parts = new Parts();
  parts.report(repeatedAppIds(file));
  const applications = new Map<string, Application>();
  for (const [name, entry] of Object.entries(file)) {
    const field = `${FILE}: ${name}.appSecret`;
    const appSecret = parts.read(() => readReference(field, entry.appSecret, environment));
    if (appSecret === undefined) continue;
    parts.report(secrets.add(field, appSecret, ISSUED_LENGTH));
    applications.set(name, { ...entry, name, appSecret });
  }
  if (Object.keys(file).length === 0) parts.report([`${FILE}: names no application`]);
  return parts.complete({ applications }).applications;
}

/**
 * The rate limit belongs to the `app_id`. With two names for it, a process would wait for a lease that it already owns,
 * and a caller could start the same payout under each name.
 */
function repeatedAppIds(entries: z.output<typeof applicationsFile>): string[] {
  const names = new Map<string, string>();
  return Object.entries(entries).flatMap(([name, entry]) => {
    const first = names.get(entry.appId);
    names.set(entry.appId, first ?? name);
    return first === undefined ? [] : [`PAYOUTS_APPS_FILE: ${name}.appId is the same as ${first}.appId`];
  });
}
