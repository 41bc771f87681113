/** Temporal's own variables and profiles, which `@temporalio/envconfig` reads for every process. */
import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import { type Environment, isLoopback, isTest, Parts, readVariables } from './environment.ts';
import { ISSUED_LENGTH, Secrets } from './secrets.ts';
import { choice, optionalText, secret } from './values.ts';

const path = (description: string) => optionalText(description, 'path');

export const temporalShape = {
  TEMPORAL_ADDRESS: optionalText(
    "Temporal's frontend. Default: the profile's, then `localhost:7233`.",
    '`host:port`',
  ),
  TEMPORAL_NAMESPACE: optionalText("The namespace. Default: the profile's, then `default`."),
  TEMPORAL_API_KEY: secret
    .optional()
    .describe(
      'The API key for Temporal Cloud, or for a server that requires one. Turns TLS on. A changed `file:PATH` applies within seconds, without a restart.',
    ),
  TEMPORAL_TLS: optionalText(
    'Whether to use TLS. Default: only with an API key or another TLS setting.',
    '`true` or `false`',
  ),
  TEMPORAL_TLS_CLIENT_CERT_PATH: path('The client certificate for mutual TLS, in PEM.'),
  TEMPORAL_TLS_CLIENT_CERT_DATA: optionalText('The client certificate itself.'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: path('Its private key, in PEM.'),
  TEMPORAL_TLS_CLIENT_KEY_DATA: secret
    .optional()
    .describe('The private key itself, instead of `TEMPORAL_TLS_CLIENT_KEY_PATH`.'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: path("The server's certificate authority, in PEM."),
  TEMPORAL_TLS_SERVER_CA_CERT_DATA: optionalText('That certificate itself.'),
  TEMPORAL_TLS_SERVER_NAME: optionalText(
    "The name in the server's certificate, if it isn't the host of the address.",
  ),
  TEMPORAL_CONFIG_FILE: path("Temporal's TOML file of profiles. Default: the Temporal CLI's."),
  TEMPORAL_PROFILE: optionalText('The profile in that file. Variables override it. Default: `default`.'),
  PAYOUTS_TEMPORAL_INSECURE: choice(
    ['refuse', 'accept'],
    'Whether to connect to Temporal without TLS, or without an API key or client certificate. A test, and a Temporal on loopback, need no `accept`. Set it only if something else, such as a service mesh, encrypts and authenticates the connection.',
  ),
};

const schema = z.object(temporalShape);

type Connect = ReturnType<typeof loadClientConnectConfig>;
/** What a program may set itself. */
type Own = Pick<ConnectionOptions, 'address' | 'apiKey' | 'callCredentials' | 'credentials' | 'tls'>;

/**
 * The options of a connection, and the namespace. `secrets`: those of the process. `overrides`: what the program will use
 * instead. Throws `ConfigError`.
 */
export function temporalConfig(
  environment: Environment,
  secrets = new Secrets(environment),
  overrides: Own = {},
): Connect {
  const { PAYOUTS_TEMPORAL_INSECURE: insecure, ...own } = readVariables(schema, environment);
  // The others include `HOME`, where the file of profiles is, and `TEMPORAL_GRPC_META_…`, which may be empty.
  const others = Object.entries(environment).filter(([name]) => !(name in temporalShape));
  const overrideEnvVars: Record<string, string> = {};
  for (const [name, value] of [...others, ...Object.entries(own)])
    if (value !== undefined) overrideEnvVars[name] = value;
  const config = loadClientConnectConfig({ overrideEnvVars });
  const { connectionOptions: loaded } = config;
  const parts = new Parts();
  if (typeof loaded.apiKey === 'string')
    parts.report(secrets.add('TEMPORAL_API_KEY', loaded.apiKey, ISSUED_LENGTH));
  const key = clientKey(loaded.tls);
  const name = own.TEMPORAL_TLS_CLIENT_KEY_DATA
    ? 'TEMPORAL_TLS_CLIENT_KEY_DATA'
    : 'TEMPORAL_TLS_CLIENT_KEY_PATH';
  if (key) parts.report(secrets.add(name, Buffer.from(key).toString().trimEnd(), ISSUED_LENGTH));
  if (insecure === 'refuse' && !isTest(environment)) parts.report(insecurities({ ...loaded, ...overrides }));
  return parts.complete(config);
}

function clientKey(tls: Own['tls']): Uint8Array | undefined {
  return typeof tls === 'object' ? tls?.clientCertPair?.key : undefined;
}

/** A program's own credentials are its choice. On loopback, nobody else listens. */
function insecurities({ address, apiKey, callCredentials, credentials, tls }: Own): string[] {
  if (credentials || isLoopback(`http://${address ?? 'localhost'}`)) return [];
  const missing = [
    ...((tls ?? apiKey) ? [] : ['TLS (TEMPORAL_TLS=true)']),
    ...(apiKey || callCredentials || clientKey(tls)
      ? []
      : [
          'credentials (TEMPORAL_API_KEY, or TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH)',
        ]),
  ];
  if (missing.length === 0) return [];
  return [
    `TEMPORAL_ADDRESS: is connected to without ${missing.join(' and ')}. Set ${missing.length > 1 ? 'them' : 'it'}, or PAYOUTS_TEMPORAL_INSECURE=accept`,
  ];
}
