/** Variables and files of the CLI. Profiles are named connections in a JSON file, instead of variables. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { amount, appName, currency } from '../contract/fields.ts';
import { clientShape, cliShape } from './client-config.ts';
import type { Environment, Read } from './environment.ts';
import { readJsonFile } from './json-file.ts';
import { keyShape } from './keys.ts';
import { temporalShape } from './temporal-config.ts';
import { readReference, referenceToSecret } from './values.ts';

const { PAYOUTS_FOLLOW_UP } = cliShape;
const { PAYOUTS_ENCRYPTION_KEYS } = keyShape;
/** What a profile replaces. */
const CONNECTION = { ...temporalShape, ...clientShape, PAYOUTS_ENCRYPTION_KEYS, PAYOUTS_FOLLOW_UP };
const SECRETS = ['TEMPORAL_API_KEY', 'TEMPORAL_TLS_CLIENT_KEY_DATA', 'PAYOUTS_ENCRYPTION_KEYS'];

const fields = Object.keys(CONNECTION).map((name) => {
  const schema = SECRETS.includes(name) ? referenceToSecret : z.string('must be text');
  return [name, schema.optional()] as const;
});

export const profilesFile = z.record(
  z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lowercase letters, digits and hyphens'),
  z.strictObject(Object.fromEntries(fields)),
);

/**
 * The variables of the profile `chosen` or, without it, of `PAYOUTS_PROFILE`; `environment` if neither is set. A profile
 * is complete: the other variables of a connection do not count, so that no two connections are mixed.
 */
export function withProfile(environment: Environment, chosen: string | undefined): Read<Environment> {
  const name = chosen ?? environment['PAYOUTS_PROFILE'];
  if (!name) return { ok: true, value: environment };
  const file =
    environment['PAYOUTS_PROFILES_FILE'] || join(homedir(), '.config/durable-payouts/profiles.json');
  const read = readJsonFile('PAYOUTS_PROFILES_FILE', file, profilesFile);
  if (!read.ok) return read;
  const profile = Object.hasOwn(read.value, name) ? read.value[name] : undefined;
  if (profile) return applied(name, profile, environment);
  const known = Object.keys(read.value).join(', ') || 'none';
  return { ok: false, problems: [`${file} has no profile ${JSON.stringify(name)}; it has: ${known}`] };
}

function applied(
  profile: string,
  variables: Readonly<Record<string, string | undefined>>,
  environment: Environment,
): Read<Environment> {
  const problems: string[] = [];
  const others = Object.entries(environment).filter(
    ([name]) => !(name in CONNECTION || name.startsWith('TEMPORAL_GRPC_META_')),
  );
  const value = Object.fromEntries(others);
  for (const [name, text] of Object.entries(variables)) {
    const read = SECRETS.includes(name) && text ? readReference(text, environment) : undefined;
    if (read?.ok === false) problems.push(...read.problems.map((why) => `${profile}.${name} ${why}`));
    else value[name] = read?.value ?? text;
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value };
}

const limits = z.record(currency(), amount);
const callerName = z.string().min(1).max(128);

export const approvalsFile = z.strictObject({
  applications: z.record(appName, limits).default({}).meta({
    description:
      "By the name of the application: the largest `instructedAmount` without an approval, by its currency. A currency that isn't listed always requires one. An application that isn't listed requires none.",
    valueType: 'object: application to object: currency to amount',
  }),
  callers: z.record(callerName, limits).default({}).meta({
    description:
      'The same, by the name of the caller who starts the payout: `name` in `PAYOUTS_API_KEYS_FILE`, or `--by` on the command line.',
    valueType: 'object: caller to object: currency to amount',
  }),
});

export type ApprovalsFile = z.output<typeof approvalsFile>;

export function readApprovals(path: string): Read<ApprovalsFile> {
  return readJsonFile('--approvals', path, approvalsFile);
}
