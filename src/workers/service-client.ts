/** One application's client of the payments service, wired to its budget and its tokens. */

import type { Application } from '../config/applications.ts';
import type { WorkerConfig } from '../config/config.ts';
import { createSigner, PaymentsClient, type TokenSource } from '../payments/index.ts';
import { CallBudget } from './call-budget.ts';

export async function serviceClient(
  { env }: WorkerConfig,
  application: Application,
  tokens: TokenSource,
): Promise<PaymentsClient> {
  return new PaymentsClient({
    baseUrl: env.PAYMENTS_BASE_URL,
    authUrl: env.PAYMENTS_AUTH_URL,
    appId: application.appId,
    appSecret: application.appSecret,
    ...(application.redirectUri && { redirectUri: application.redirectUri }),
    tokens,
    gatewayToken: env.PAYMENTS_GATEWAY_TOKEN,
    tradeToken: env.PAYMENTS_TRADE_TOKEN,
    tradeAuthScheme: env.PAYMENTS_TRADE_AUTH_SCHEME,
    signer: await createSigner(env.PAYMENTS_SIGNER, env.PAYMENTS_SIGNING_KEY),
    createCodes: env.PAYMENTS_CREATE_CODES,
    timeouts: callTimeouts(env.PAYMENTS_CALL_TIMEOUT),
    gate: new CallBudget(application.callsPerSecond ?? env.PAYMENTS_CALLS_PER_SECOND),
  });
}

/** No part of an exchange may take longer than the whole. */
function callTimeouts(totalMs: number) {
  return { connectMs: totalMs / 2, headersMs: totalMs, bodyMs: totalMs, totalMs };
}
