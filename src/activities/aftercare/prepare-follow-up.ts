/** What a follow-up needs from the configuration. No calls to the provider. */
import { z } from 'zod';
import type { WorkerConfig } from '../../config/config.ts';
import { apiTaskQueue } from '../../contract/ids.ts';
import { payoutResultSchema } from '../../contract/payout-answers.ts';
import { appName, fieldErrors } from '../../contract/payout-request.ts';
import type { FollowUpPlan, FollowUpRequest } from '../../domain/follow-up.ts';
import { invalid, notHere } from '../shared/invalid.ts';

/** 31 December 9999. */
const MAX_TIME_MS = 253_402_300_799_999;
const MAX_HINT_PAUSE_MS = 60_000;

/** All that the workflow reads, because it does not check the request again. */
const requestSchema = z.object({
  environment: z.string().optional(),
  app: appName,
  openId: z.string().optional(),
  clientId: z.string().min(1),
  partnerOrderId: z.string().min(1),
  outcome: payoutResultSchema.shape.outcome,
  splits: payoutResultSchema.shape.splits,
  endedAtMs: z.number().min(0).max(MAX_TIME_MS),
}) satisfies z.ZodType<FollowUpRequest>;

export function followUpPlan(config: WorkerConfig, request: unknown): FollowUpPlan {
  const { env } = config;
  const parsed = requestSchema.safeParse(request);
  if (!parsed.success) throw invalid(fieldErrors(parsed.error));
  const { app } = parsed.data;
  const problems = notHere(config, app, parsed.data.environment);
  if (problems.length > 0) throw invalid(problems);
  const environment = env.PAYMENTS_ENVIRONMENT;
  return {
    environment,
    apiQueue: apiTaskQueue(environment, app),
    callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT,
    looksAfterMs: env.PAYOUTS_FOLLOW_UP,
    hintPauseMs: Math.min(MAX_HINT_PAUSE_MS, 2 * env.PAYOUTS_POLL_FIRST),
  };
}
