/** When a follow-up looks, and on which queue; no API call. */
import { z } from 'zod';
import type { WorkerConfig } from '../../config/config.ts';
import { apiTaskQueue } from '../../contract/ids.ts';
import { payoutResultSchema } from '../../contract/payout-answers.ts';
import { appName, fieldErrors } from '../../contract/payout-request.ts';
import type { FollowUpPlan, FollowUpRequest } from '../../domain/follow-up.ts';
import { invalid, NOT_CONFIGURED } from '../shared/invalid.ts';

/** 31 December 9999. */
const LAST_MS = 253_402_300_799_999;

/** All that the workflow reads of it, for there it is not checked again. */
const requestSchema = z.object({
  environment: z.string().optional(),
  app: appName,
  openId: z.string().optional(),
  clientId: z.string().min(1),
  partnerOrderId: z.string().min(1),
  outcome: payoutResultSchema.shape.outcome,
  splits: payoutResultSchema.shape.splits,
  endedAtMs: z.number().min(0).max(LAST_MS),
}) satisfies z.ZodType<FollowUpRequest>;

/** However rarely this configuration polls. */
const LONGEST_FIRST_PAUSE_MS = 60_000;

export function followUpPlan({ env, applications }: WorkerConfig, request: unknown): FollowUpPlan {
  const parsed = requestSchema.safeParse(request);
  if (!parsed.success) throw invalid(fieldErrors(parsed.error));
  const { app, environment } = parsed.data;
  if (!applications.has(app)) throw invalid([NOT_CONFIGURED]);
  const here = env.PAYMENTS_ENVIRONMENT;
  if (environment !== undefined && environment !== here)
    throw invalid([{ path: 'environment', message: `this is ${here}` }]);
  return {
    environment: here,
    apiQueue: apiTaskQueue(here, app),
    callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT,
    looksAfterMs: env.PAYOUTS_FOLLOW_UP,
    hintPauseMs: Math.min(LONGEST_FIRST_PAUSE_MS, 2 * env.PAYOUTS_POLL_FIRST),
  };
}
