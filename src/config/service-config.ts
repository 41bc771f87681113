/** What the API server reads from its environment. It holds no secret of an application. */
import { z } from 'zod';
import { fieldErrors } from '../contract/payout-request.ts';
import { isJsonPointer, type NotificationFields } from '../payments/index.ts';
import { type Callers, readCallers } from './callers.ts';
import { ConfigError } from './config-error.ts';
import { type Keys, readKeys } from './encryption.ts';
import { type Environment, withoutEmpty } from './environment.ts';
import { listenAddress } from './listen.ts';
import { logLevel } from './log-level.ts';

const FIELDS = ['orderId', 'partnerOrderId', 'status'] as const;

/** `orderId=/payload/id,status=/payload/state`: where the operator of the service says that they stand. */
const notificationFields = z.string().transform((text, context): NotificationFields => {
  const fields: NotificationFields = {};
  for (const entry of text.split(',').filter((part) => part.trim() !== '')) {
    const [name = '', pointer = ''] = entry.trim().split('=');
    const field = FIELDS.find((known) => known === name);
    if (field === undefined || pointer === '' || !isJsonPointer(pointer))
      context.addIssue({
        code: 'custom',
        message: `must be name=/json/pointer pairs, name one of ${FIELDS.join(', ')}`,
      });
    else fields[field] = pointer;
  }
  return fields;
});

const secrets = z.string().transform((text) => text.split(',').map((secret) => secret.trim()));

const schema = z.object({
  PAYOUTS_LOG_LEVEL: logLevel,
  PAYMENTS_ENVIRONMENT: z.enum(['test', 'sandbox', 'production']),
  PAYOUTS_API_LISTEN: listenAddress.default({ host: '127.0.0.1', port: 8080 }),
  PAYMENTS_NOTIFICATION_VERIFIER: z.string().default('none'),
  PAYMENTS_NOTIFICATION_SECRETS: secrets.default([]),
  PAYMENTS_NOTIFICATION_FIELDS: notificationFields.default({}),
});

export type ServiceConfig = z.output<typeof schema> & {
  /** With `keys.tokens` it seals authorization codes, which it passes on and never uses. */
  keys: Keys;
  callers: Callers;
};

/** Throws `ConfigError`, which names every bad key. */
export function serviceConfig(environment: Environment): ServiceConfig {
  const parsed = schema.safeParse(withoutEmpty(environment));
  const keys = readKeys(environment);
  const callers = readCallers(environment, parsed.data);
  if (parsed.success && keys.ok && callers.ok)
    return { ...parsed.data, keys: keys.value, callers: callers.value };
  const problems = parsed.success
    ? []
    : fieldErrors(parsed.error).map(({ path, message }) => `${path}: ${message}`);
  throw new ConfigError([
    ...problems,
    ...(keys.ok ? [] : keys.problems),
    ...(callers.ok ? [] : callers.problems),
  ]);
}
