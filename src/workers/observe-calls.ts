/** What metrics, log and traces say of each call to the provider: without URL, body or token. */
import { log } from '@temporalio/activity';
import { count, logEvent, type Meter, observeMs } from '../domain/telemetry.ts';
import { startSpan } from '../observability/trace-context.ts';
import type { CallEvent } from '../payments/options.ts';
import type { Clock } from '../runtime/runtime.ts';

const TOO_MANY_REQUESTS = 429;

/** Called in the activity that made the call. */
export function callObserver(app: string, clock: Clock, meter: Meter | undefined): (call: CallEvent) => void {
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
      ...{ name: `provider ${operation}`, kind: 'client', startMs: clock.wallMs() - durationMs },
      attributes: {
        ...{ 'payouts.app': app, 'payouts.request.id': requestId, 'payouts.outcome': outcome },
        ...(httpStatus !== undefined && { 'http.response.status_code': httpStatus }),
      },
    })?.end({}, outcome === 'OK' ? undefined : outcome);
    logEvent(log, 'provider.call', { app, operation, requestId, outcome, httpStatus, code, durationMs });
  };
}
