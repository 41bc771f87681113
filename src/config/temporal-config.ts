/** Temporal's own variables and profiles, which `@temporalio/envconfig` reads for every process. */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import { type Environment, readVariables } from './environment.ts';
import { optionalText, secret } from './values.ts';

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
};

const schema = z.object(temporalShape);

/** The options of a connection, and the namespace. Throws `ConfigError`. */
export function temporalConfig(environment: Environment): ReturnType<typeof loadClientConnectConfig> {
  const own = readVariables(schema, environment);
  // The others include `HOME`, where the file of profiles is, and `TEMPORAL_GRPC_META_…`, which may be empty.
  const others = Object.entries(environment).filter(([name]) => !(name in temporalShape));
  const overrideEnvVars: Record<string, string> = {};
  for (const [name, value] of [...others, ...Object.entries(own)])
    if (value !== undefined) overrideEnvVars[name] = value;
  return loadClientConnectConfig({ overrideEnvVars });
}
