/** The first activity of a payout, which is no API call: decides bad input, and fixes the settings. */
import { activityInfo } from '@temporalio/activity';
import { payoutSettings, type WorkerConfig } from '../config/config.ts';
import { checkPayoutRequest, type FieldError } from '../contract/payout-request.ts';
import { apiTaskQueue, payoutWorkflowId } from '../domain/identity.ts';
import type { CheckedPayoutRequest } from '../domain/payout.ts';
import { invalid, NOT_CONFIGURED } from './invalid.ts';
import { followUpPlan } from './prepare-follow-up.ts';
import { authorizationLink, tokenPlan } from './prepare-token.ts';
import type { LocalActivities, ReadPlan } from './types.ts';

type Start = Parameters<LocalActivities['preparePayout']>[1];

export function preparation(config: WorkerConfig): LocalActivities {
  return {
    async preparePayout(request, start) {
      const checked = checkPayoutRequest(request);
      if (!checked.ok) throw invalid(checked.errors);
      const problems = notHere(config, checked.value, start);
      if (problems.length > 0) throw invalid(problems);
      const { app } = checked.value;
      const apiQueue = apiTaskQueue(config.env.PAYMENTS_ENVIRONMENT, app);
      return { request: checked.value, settings: payoutSettings(config.env, apiQueue) };
    },
    async prepareFollowUp(request) {
      return followUpPlan(config, request);
    },
    async isFirstRun(firstRunId) {
      return activityInfo().workflowExecution?.runId === firstRunId;
    },
    async prepareRead(app, openId) {
      const plan = readPlan(config, app);
      return typeof openId === 'string' ? { ...plan, caller: { ...plan.caller, openId } } : plan;
    },
    async prepareToken(owner) {
      return tokenPlan(config, owner);
    },
    async prepareAuthorization(owner) {
      return { ...tokenPlan(config, owner), link: authorizationLink(config, owner) };
    },
    async prepareQuote(request) {
      const checked = checkPayoutRequest(request);
      if (!checked.ok) throw invalid(checked.errors);
      const { app, openId } = checked.value;
      const plan = readPlan(config, app);
      return { ...plan, caller: { ...plan.caller, openId }, request: checked.value };
    },
  };
}

function readPlan({ env, applications }: WorkerConfig, app: unknown): ReadPlan {
  const environment = env.PAYMENTS_ENVIRONMENT;
  if (typeof app !== 'string' || !applications.has(app)) throw invalid([NOT_CONFIGURED]);
  const calls = { apiQueue: apiTaskQueue(environment, app), callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT };
  return { caller: { environment, app }, calls };
}

/** What is wrong with a well-formed request at this place: unknown application, other environment, other id. */
function notHere(
  { env, applications }: WorkerConfig,
  request: CheckedPayoutRequest,
  start: Start,
): FieldError[] {
  const problems: FieldError[] = [];
  if (!applications.has(request.app)) problems.push(NOT_CONFIGURED);
  problems.push(...userMissing(env, request), ...otherEnvironment(env, start.environment));
  // The workflow id is what makes a number unique: under any other id the same payout could be started twice.
  const expected = payoutWorkflowId(request.app, request.partnerOrderId);
  if (start.workflowId !== expected)
    problems.push({ path: 'partnerOrderId', message: `must be started under the workflow id ${expected}` });
  return problems;
}

export function userMissing(
  { PAYMENTS_GATEWAY_TOKEN, PAYMENTS_TRADE_TOKEN }: WorkerConfig['env'],
  { openId }: CheckedPayoutRequest,
): FieldError[] {
  const asUser = PAYMENTS_GATEWAY_TOKEN === 'user' || PAYMENTS_TRADE_TOKEN === 'user';
  if (!asUser || openId !== undefined) return [];
  return [{ path: 'openId', message: 'is needed: calls are made with the token of a user' }];
}

export function otherEnvironment(
  { PAYMENTS_ENVIRONMENT }: WorkerConfig['env'],
  meant: unknown,
): FieldError[] {
  if (meant === undefined || meant === PAYMENTS_ENVIRONMENT) return [];
  return [
    { path: 'environment', message: `this is ${PAYMENTS_ENVIRONMENT}, the start was meant for another` },
  ];
}
