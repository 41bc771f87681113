/** One application's client of the payments service, wired to its budget and its tokens. */

import type { Application } from '../config/applications.ts';
import type { WorkerConfig } from '../config/config.ts';
import {
  type CallGate,
  createSigner,
  PaymentsClient,
  type PaymentsClientOptions,
  type TokenSource,
} from '../payments/index.ts';
import type { Surroundings } from '../surroundings/surroundings.ts';

const LEAST_IN_FLIGHT = 32;
const MOST_IN_FLIGHT = 512;

/** At the full rate, when every call takes as long as it may. */
export function mostInFlight({ env }: WorkerConfig, callsPerSecond: number): number {
  const most = Math.ceil((callsPerSecond * env.PAYMENTS_CALL_TIMEOUT) / 1_000);
  return Math.min(MOST_IN_FLIGHT, Math.max(LEAST_IN_FLIGHT, most));
}

export interface ServiceClientParts {
  tokens: TokenSource;
  gate: CallGate;
  callsPerSecond: number;
  surroundings: Surroundings;
  /** HTTP by default. */
  transport?: PaymentsClientOptions['transport'];
}

export async function serviceClient(
  config: WorkerConfig,
  application: Application,
  { tokens, gate, callsPerSecond, surroundings, transport }: ServiceClientParts,
): Promise<PaymentsClient> {
  const { env } = config;
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
    gate,
    connections: mostInFlight(config, callsPerSecond),
    surroundings,
    ...(transport && { transport }),
  });
}

/** No part of an exchange may take longer than the whole. */
function callTimeouts(totalMs: number) {
  return { connectMs: totalMs / 2, headersMs: totalMs, bodyMs: totalMs, totalMs };
}
