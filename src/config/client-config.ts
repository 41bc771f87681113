/** Variables of the programs that start and steer payouts: the client library and the CLI. */
import { z } from 'zod';
import { type Environment, Parts, readVariables, withoutEmpty } from './environment.ts';
import { encryptionKeys } from './keys.ts';
import {
  addressProblems,
  allowedHostsShape,
  followUpShape,
  optionalText,
  paymentsEnvironment,
  targetCurrenciesShape,
  testBaseUrl,
} from './values.ts';

export const clientShape = {
  PAYMENTS_ENVIRONMENT: paymentsEnvironment
    .optional()
    .describe('As for the [API server](#api-server). Without it, any worker accepts the start.'),
  PAYMENTS_BASE_URL: testBaseUrl,
  ...allowedHostsShape,
  ...targetCurrenciesShape,
};

export const cliShape = {
  PAYOUTS_FOLLOW_UP: followUpShape.PAYOUTS_FOLLOW_UP.describe(
    "As for the workers. `doctor` compares it with the namespace's retention.",
  ),
  NO_COLOR: optionalText('Turns colors off.', 'any text'),
  FORCE_COLOR: optionalText(
    "Turns colors on, even if the output isn't a terminal, unless `NO_COLOR` is set.",
    'any text',
  ),
  TERM: optionalText('`dumb` turns colors off.'),
};

const schema = z.object(clientShape);

/** Throws `ConfigError`. */
export function clientConfig(environment: Environment) {
  const parts = new Parts();
  const own = parts.read(() => readVariables(schema, environment));
  parts.report(addressProblems(environment));
  const keys = parts.read(() => encryptionKeys(environment));
  const read = parts.complete({ own, keys });
  return { ...read.own, keys: read.keys };
}

/** Milliseconds after the end of a payout. Undefined if no worker would start with this list. */
export function followUpsMs(environment: Environment): readonly number[] | undefined {
  return cliShape.PAYOUTS_FOLLOW_UP.safeParse(withoutEmpty(environment)['PAYOUTS_FOLLOW_UP']).data;
}
