/** Where Temporal is: its own variables and profiles, which `@temporalio/envconfig` reads for every process. */
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import { ConfigError } from './config-error.ts';
import { type Environment, withoutEmpty } from './environment.ts';
import { secret } from './secret.ts';

const path = (description: string) => z.string().optional().meta({ description, valueType: 'path' });
const yes = (description: string) =>
  z.string().optional().meta({ description, valueType: '`true` or `false`' });

export const temporalShape = {
  TEMPORAL_ADDRESS: z.string().optional().meta({
    description:
      "The address of Temporal's frontend. Without it, the profile decides, then `localhost:7233`.",
    valueType: '`host:port`',
  }),
  TEMPORAL_NAMESPACE: z
    .string()
    .optional()
    .describe('The namespace. Without it, the profile decides, then `default`.'),
  TEMPORAL_API_KEY: secret
    .optional()
    .describe('The API key for Temporal Cloud or a server that asks for one. It turns TLS on.'),
  TEMPORAL_TLS: yes('Whether to use TLS. Default: only with an API key or another TLS setting.'),
  TEMPORAL_TLS_CLIENT_CERT_PATH: path('The client certificate for mutual TLS, in PEM.'),
  TEMPORAL_TLS_CLIENT_CERT_DATA: z.string().optional().describe('The client certificate itself.'),
  TEMPORAL_TLS_CLIENT_KEY_PATH: path("The client certificate's private key, in PEM."),
  TEMPORAL_TLS_CLIENT_KEY_DATA: secret
    .optional()
    .describe('The private key itself. Not together with `TEMPORAL_TLS_CLIENT_KEY_PATH`.'),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: path("The certificate authority of the server's certificate, in PEM."),
  TEMPORAL_TLS_SERVER_CA_CERT_DATA: z.string().optional().describe('The same certificate itself.'),
  TEMPORAL_TLS_SERVER_NAME: z
    .string()
    .optional()
    .describe("The name that the server's certificate must have, where it is not the host of the address."),
  TEMPORAL_CONFIG_FILE: path(
    "Temporal's TOML file of profiles. Without it, the file where the Temporal CLI keeps it.",
  ),
  TEMPORAL_PROFILE: z
    .string()
    .optional()
    .describe('The profile in that file. Variables override it. Without it, the profile `default`.'),
};

const schema = z.object(temporalShape);

/** The options of a connection, and the namespace. Throws `ConfigError`. */
export function temporalConfig(environment: Environment): ReturnType<typeof loadClientConnectConfig> {
  const parsed = schema.safeParse(withoutEmpty(environment));
  if (!parsed.success)
    throw new ConfigError(fieldErrors(parsed.error).map(({ path: name, message }) => `${name}: ${message}`));
  return loadClientConnectConfig({ overrideEnvVars: { ...others(environment), ...defined(parsed.data) } });
}

/** Also where the file of profiles is looked for (`HOME`, …), and `TEMPORAL_GRPC_META_…`, which may be empty. */
function others(environment: Environment): Record<string, string> {
  return defined(
    Object.fromEntries(Object.entries(environment).filter(([name]) => !(name in temporalShape))),
  );
}

function defined(variables: Environment): Record<string, string> {
  const present: Record<string, string> = {};
  for (const [name, value] of Object.entries(variables)) if (value !== undefined) present[name] = value;
  return present;
}
