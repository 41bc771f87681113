/** `PAYOUTS_EVENTS_FILE`: the endpoints to which workers send events. */
import { z } from 'zod';
import { EVENT_TYPES, type EventType } from '../contract/codes.ts';
import { appName } from '../contract/fields.ts';
import { isRefusedHost } from '../webhooks/event-transport.ts';
import { readSigningKey, type SigningKey } from '../webhooks/sign-event.ts';
import { ConfigError, type Environment, isTest, Parts } from './environment.ts';
import { jsonFile } from './json-file.ts';
import type { Secrets } from './secrets.ts';
import { optionalText, readSecret } from './values.ts';

const FILE = 'PAYOUTS_EVENTS_FILE';

export const eventsShape = {
  [FILE]: optionalText(
    '[A JSON file](#payouts_events_file) of the endpoints that get [events](events.md). Give all workers the same. Default: none.',
    'path',
  ),
};

const ENDPOINT_NAME = /^[a-z0-9-]{1,32}$/;

export const endpointEntry = z.strictObject({
  name: z
    .string()
    .regex(ENDPOINT_NAME, 'must be 1 to 32 lowercase letters, digits and hyphens')
    .describe("The endpoint's name, unique within its application: lowercase letters, digits and hyphens."),
  application: appName.describe('The application whose events it gets.'),
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !URL.canParse(url) || (new URL(url).username === '' && new URL(url).password === ''), {
      message: 'must not contain a user or a password',
    })
    .describe('Where events are sent by POST. https, unless `PAYMENTS_ENVIRONMENT=test`.'),
  types: z
    .array(z.enum(EVENT_TYPES))
    .min(1)
    .optional()
    .meta({
      description: `The types of events that it gets: ${EVENT_TYPES.map((type) => `\`${type}\``).join(', ')}. Default: all.`,
      valueType: 'list of types',
    }),
  secrets: z.array(z.string()).min(1).max(2).meta({
    description:
      'Signs events: `whsec_` and 24 to 64 bytes in base64 for HMAC-SHA256, or `whsk_` and a private key in base64 for Ed25519; each may be `file:PATH`. With two, for rotation, both sign.',
    valueType: 'list of 1 or 2 secrets',
  }),
  allowPrivateAddress: z.boolean().default(false).meta({
    description:
      'Whether the URL may lead to a private or loopback address. Link-local, multicast and reserved addresses never work. Default: `false`.',
    valueType: 'boolean',
  }),
});

export const endpointsFile = z.array(endpointEntry).superRefine((endpoints, context) => {
  const keys = endpoints.map(({ application, name }) => `${application}:${name}`);
  for (const [at, key] of keys.entries())
    if (keys.indexOf(key) !== at)
      context.addIssue({ code: 'custom', path: [at, 'name'], message: 'appears twice in its application' });
});

export interface EventEndpoint {
  name: string;
  url: string;
  types?: readonly EventType[] | undefined;
  keys: readonly SigningKey[];
  allowPrivateAddress: boolean;
}

/** By the name of the application. */
export type EventEndpoints = ReadonlyMap<string, readonly EventEndpoint[]>;

/** Refuses applications that no worker serves: they are typing errors. Throws `ConfigError`, without a secret. */
export function readEvents(
  environment: Environment,
  applications: ReadonlyMap<string, unknown> | undefined,
  processSecrets: Secrets,
): EventEndpoints {
  const { [FILE]: path } = environment;
  const file = path ? jsonFile(FILE, path, endpointsFile) : [];
  const parts = new Parts();
  const endpoints = new Map<string, EventEndpoint[]>();
  for (const [at, { application, secrets, ...entry }] of file.entries()) {
    const here = `${FILE}: ${at}`;
    if (applications?.has(application) === false) parts.report([`${here}.application is not configured`]);
    parts.report(urlProblems(environment, entry).map((problem) => `${here}.url ${problem}`));
    const keys = secrets.flatMap(
      (secret, of) => parts.read(() => readKey(processSecrets, `${here}.secrets.${of}`, secret)) ?? [],
    );
    endpoints.set(application, [...(endpoints.get(application) ?? []), { ...entry, keys }]);
  }
  return parts.complete({ endpoints }).endpoints;
}

function urlProblems(
  environment: Environment,
  { url, allowPrivateAddress }: Pick<EventEndpoint, 'url' | 'allowPrivateAddress'>,
): string[] {
  const parsed = new URL(url);
  if (parsed.protocol !== 'https:' && !isTest(environment))
    return ['must be https: only PAYMENTS_ENVIRONMENT=test may use http'];
  if (!isRefusedHost(parsed, allowPrivateAddress)) return [];
  return [`has an address that is not allowed${allowPrivateAddress ? '' : ': see allowPrivateAddress'}`];
}

function readKey(secrets: Secrets, name: string, reference: string): SigningKey {
  const secret = readSecret(name, reference);
  const key = readSigningKey(secret);
  const problems = secrets.add(name, secret);
  if ('problem' in key) problems.push(`${name} ${key.problem}`);
  if ('problem' in key || problems.length > 0) throw new ConfigError(problems);
  return key;
}

/** The types that an endpoint of the application wants; undefined if it has no endpoint. */
export function wantedTypes(endpoints: EventEndpoints, app: string): EventType[] | undefined {
  const all = endpoints.get(app);
  return all && EVENT_TYPES.filter((type) => all.some((endpoint) => wants(endpoint, type)));
}

export function wants({ types }: EventEndpoint, type: string): boolean {
  return types === undefined || types.some((one) => one === type);
}
