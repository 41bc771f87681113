/** Temporal's own variables and profiles, which `@temporalio/envconfig` reads for every process. */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import { type Environment, readVariables } from './environment.ts';
import { optionalText, secret } from './values.ts';

const path = (description: string) => optionalText(description, 'path');

export const temporalShape = {
  TEMPORAL_ADDRESS: optionalText(
    "The address of Temporal's frontend. Without it, the profile decides, then `localhost:7233`.",
    '`host:port`',
  ),
  TEMPORAL_NAMESPACE: optionalText('The namespace. Without it, the profile decides, then `default`.'),
  TEMPORAL_API_KEY: secret
    .optional()
    .describe(
      'The API key for Temporal Cloud or a server that requires one. It turns TLS on. With `file:PATH`, a process uses a new key within seconds after the file changes, without a restart.',
    ),
  TEMPORAL_TLS: optionalText(
    'Whether to use TLS. Default: only with an API key or another TLS setting.',
    '`true` or `false`',
  ),
  TEMPORAL_TLS_CLIENT_CERT_PATH: path('The client certificate for mutual TLS, in PEM.'),
  TEMPORAL_TLS_CLIENT_CERT_DATA: optionalText('The client certificate itself.'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: path("The client certificate's private key, in PEM."),
  TEMPORAL_TLS_CLIENT_KEY_DATA: secret
    .optional()
    .describe('The private key itself. Not together with `TEMPORAL_TLS_CLIENT_KEY_PATH`.'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: path("The certificate authority of the server's certificate, in PEM."),
  TEMPORAL_TLS_SERVER_CA_CERT_DATA: optionalText('The same certificate itself.'),
  TEMPORAL_TLS_SERVER_NAME: optionalText(
    "The name that the server's certificate must have, if it isn't the host of the address.",
  ),
  TEMPORAL_CONFIG_FILE: path(
    "Temporal's TOML file of profiles. Without it, the default file of the Temporal CLI.",
  ),
  TEMPORAL_PROFILE: optionalText(
    'The profile in that file. Variables override it. Without it, the profile `default`.',
  ),
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
