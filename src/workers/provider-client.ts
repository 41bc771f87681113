/** The provider client of one application. */
import { log } from '@temporalio/activity';
import type { MetricMeter } from '@temporalio/common';
import type { Application } from '../config/applications.ts';
import type { WorkerConfig } from '../config/config.ts';
import { count, logEvent, observeMs } from '../domain/telemetry.ts';
import { startSpan } from '../observability/tracing.ts';
import { createSigner, PaymentsClient, type PaymentsClientOptions } from '../payments/index.ts';
import type { CallEvent } from '../payments/options.ts';
import type { Clock } from '../runtime/runtime.ts';

const MIN_IN_FLIGHT = 32;
const MAX_IN_FLIGHT = 512;

/** The number of concurrent calls at the full rate, if each call takes the maximum time. */
export function maxInFlight({ env }: WorkerConfig, callsPerSecond: number): number {
  const calls = Math.ceil((callsPerSecond * env.PAYMENTS_CALL_TIMEOUT) / 1_000);
  return Math.min(MAX_IN_FLIGHT, Math.max(MIN_IN_FLIGHT, calls));
}

type ClientParts = Pick<PaymentsClientOptions, 'tokens' | 'runtime' | 'transport' | 'onCall' | 'gate'> & {
  callsPerSecond: number;
};

export async function providerClient(
  config: WorkerConfig,
  { appId, appSecret, redirectUri }: Application,
  { callsPerSecond, ...parts }: ClientParts,
): Promise<PaymentsClient> {
  const { env } = config;
  const totalMs = env.PAYMENTS_CALL_TIMEOUT;
  return new PaymentsClient({
    ...parts,
    baseUrl: env.PAYMENTS_BASE_URL,
    authUrl: env.PAYMENTS_AUTH_URL,
    ...(env.PAYMENTS_ALLOWED_HOSTS && { allowedHosts: env.PAYMENTS_ALLOWED_HOSTS }),
    appId,
    appSecret,
    ...(redirectUri && { redirectUri }),
    gatewayToken: env.PAYMENTS_GATEWAY_TOKEN,
    tradeToken: env.PAYMENTS_TRADE_TOKEN,
    tradeAuthScheme: env.PAYMENTS_TRADE_AUTH_SCHEME,
    signer: await createSigner(env.PAYMENTS_SIGNER, env.PAYMENTS_SIGNING_KEY),
    echo: env.PAYMENTS_ECHO,
    createCodes: env.PAYMENTS_CREATE_CODES,
    // No step of an exchange may take longer than the whole.
    timeouts: { connectMs: totalMs / 2, headersMs: totalMs, bodyMs: totalMs, totalMs },
    connections: maxInFlight(config, callsPerSecond),
  });
}

const TOO_MANY_REQUESTS = 429;

/**
 * What metrics, log and traces say of each call to the provider: without URL, body or token.
 * Called in the activity that made the call.
 */
export function callObserver(
  app: string,
  clock: Clock,
  meter: MetricMeter | undefined,
): (call: CallEvent) => void {
  return (call) => {
    const { operation, requestId, outcome, httpStatus, code } = call;
    const durationMs = Math.round(call.durationMs);
    if (meter) {
      count(meter, 'payouts_provider_calls', { app, operation, outcome });
      observeMs(meter, 'payouts_provider_call_duration_seconds', { app, operation }, durationMs);
      if (httpStatus === TOO_MANY_REQUESTS || code === String(TOO_MANY_REQUESTS))
        count(meter, 'payouts_rate_limited', { app });
    }
    startSpan({
      name: `provider ${operation}`,
      kind: 'client',
      startMs: clock.wallMs() - durationMs,
      attributes: {
        'payouts.app': app,
        'payouts.request.id': requestId,
        'payouts.outcome': outcome,
        ...(httpStatus !== undefined && { 'http.response.status_code': httpStatus }),
      },
    })?.end({}, outcome === 'OK' ? undefined : outcome);
    logEvent(log, 'provider.call', { app, operation, requestId, outcome, httpStatus, code, durationMs });
  };
}
