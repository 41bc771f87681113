/** A client for tests, closed when the test ends. */

import { onTestFinished } from 'vitest';
import { PaymentsClient } from '../../../src/payments/client.ts';
import { PaymentsError } from '../../../src/payments/errors.ts';
import type { PaymentsClientOptions } from '../../../src/payments/options.ts';
import { PROCESS_RUNTIME } from '../../../src/runtime/process.ts';

export function clientFor(origin: string, options: Partial<PaymentsClientOptions> = {}): PaymentsClient {
  const client = new PaymentsClient({
    baseUrl: origin,
    authUrl: origin,
    appId: 'app-1',
    appSecret: 'app-secret',
    redirectUri: 'https://shop.example/callback',
    tokens: { token: async ({ kind, openId }) => `${kind}-token${openId ?? ''}` },
    gatewayToken: 'application',
    tradeToken: 'application',
    tradeAuthScheme: 'Bearer',
    signer: { sign: () => ({}) },
    runtime: PROCESS_RUNTIME,
    echo: 'visible',
    createCodes: new Map([['429', 'busy']]),
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** The `PaymentsError` that `call` rejects with. Fails the test on any other result. */
export async function failureOf(call: Promise<unknown>): Promise<PaymentsError> {
  const thrown = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in thrown && thrown.error instanceof PaymentsError) return thrown.error;
  throw new Error('expected a PaymentsError', { cause: thrown });
}
