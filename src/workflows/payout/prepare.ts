/** Checks the request and fixes the settings: with the first quote if it can, else without a call to the provider. */
import type { Prepared } from '../../activities/shared/preparation.ts';
import type { Begun } from '../../activities/shared/provider-activities.ts';
import { APP_NAME, apiTaskQueue } from '../../contract/ids.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import { checks, orBadInput, untilAnswered } from '../shared/calls.ts';
import { isRecord } from '../shared/messages.ts';
import { startFacts } from '../shared/run-facts.ts';
import { isDoubtfulStart } from '../shared/uncertain-send.ts';
import type { PayoutRun } from './run.ts';

/** A bad request, or one for an application without workers, waits no longer for its check. Nor does a payout's state. */
const BEGIN_WITHIN_MS = 30_000;
/** An attempt takes 25 s at most, so that the check ends within a minute. */
const BEGIN_CALL_MS = 10_000;

/** Throws the check's own error for bad input. */
export async function prepare(run: PayoutRun, request: unknown): Promise<Prepared<CheckedPayoutRequest>> {
  const begun = await begin(run, request);
  run.firstQuote = begun?.quote;
  return begun?.prepared ?? orBadInput(checks.preparePayout(request, startFacts()));
}

/**
 * The check and the first quote in one activity, which saves six history events: if one of our starters, which has checked
 * the body, starts the payout for now. Undefined if it fails, takes too long or is canceled: the check alone then decides.
 */
async function begin(run: PayoutRun, request: unknown): Promise<Begun | undefined> {
  const start = startFacts();
  const { environment } = start;
  if (isDoubtfulStart() || !isRecord(request) || request['notBefore'] !== undefined) return undefined;
  const { app = 'default', clientId } = request;
  // They are part of the queue's name, which Temporal limits.
  if (!isName(environment) || !isName(app)) return undefined;
  const calls = untilAnswered(
    {
      apiQueue: apiTaskQueue(environment, app),
      callTimeoutMs: BEGIN_CALL_MS,
      withinMs: BEGIN_WITHIN_MS,
      ...(typeof clientId === 'string' && { onBehalfOf: clientId }),
    },
    'beginning',
    'checks the request and the account, and gets a quote',
  );
  run.record.lastAskedAtMs = Date.now();
  return run.cancellable(() => calls.beginPayout(request, start)).catch(() => undefined);
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && APP_NAME.test(value);
}
