/** What programs that start and steer payouts read from their environment: the client library and the CLI. */
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import { ConfigError } from './config-error.ts';
import { type Environment, httpUrl, paymentsEnvironment, withoutEmpty } from './environment.ts';

export const clientShape = {
  PAYMENTS_ENVIRONMENT: paymentsEnvironment
    .optional()
    .describe(
      "The provider's environment, recorded with each start: a worker of another environment refuses it. Without it, any worker accepts the start.",
    ),
  PAYMENTS_BASE_URL: httpUrl
    .optional()
    .describe(
      'The same as for the workers. Clients do not call it: it only tells a test against loopback, which may go without encryption keys.',
    ),
};

const schema = z.object(clientShape);

export type ClientConfig = z.output<typeof schema>;

/** Throws `ConfigError`. */
export function clientConfig(environment: Environment): ClientConfig {
  const parsed = schema.safeParse(withoutEmpty(environment));
  if (parsed.success) return parsed.data;
  throw new ConfigError(fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`));
}
