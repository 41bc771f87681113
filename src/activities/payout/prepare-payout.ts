/** The first activity of a workflow, which is no API call: decides bad input, and fixes the settings. */
import { activityInfo } from '@temporalio/activity';
import { payoutSettings, sendPolicy, type WorkerConfig } from '../../config/config.ts';
import { apiTaskQueue, payoutWorkflowId, receivingAccountWorkflowId } from '../../contract/ids.ts';
import { checkPayoutRequest, type FieldError } from '../../contract/payout-request.ts';
import { checkReceivingAccount } from '../../contract/receiving-account.ts';
import type { CheckedPayoutRequest } from '../../domain/payout.ts';
import type { CheckedOpeningRequest } from '../../domain/receiving-account.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { followUpPlan } from '../aftercare/prepare-follow-up.ts';
import { invalid, NOT_CONFIGURED } from '../shared/invalid.ts';
import type { LocalActivities, ReadPlan, StartFacts } from '../shared/types.ts';
import { authorizationLink, tokenPlan } from '../tokens/prepare-token.ts';
import { doubtAbout } from './send-once.ts';

const ACCOUNT = 'receiving account request';

export function preparation(config: WorkerConfig, clock: Clock): LocalActivities {
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
    async doubtAboutEnd(facts) {
      const policy = sendPolicy(config.env);
      const doubt = doubtAbout(activityInfo().workflowExecution?.runId, facts, policy);
      // A start that the restored Temporal has forgotten looks new here, as one does whose history was deleted.
      const provesNothing = policy.createCheck === 'always' || policy.recoveredAtMs !== undefined;
      return doubt ?? (provesNothing && !facts.cleared ? 'earlier-run' : null);
    },
    async prepareReceivingAccount(request, start) {
      const checked = checkReceivingAccount(request);
      if (!checked.ok) throw invalid(checked.errors, ACCOUNT);
      const problems = notOpenedHere(config, checked.value, start);
      if (problems.length > 0) throw invalid(problems, ACCOUNT);
      const apiQueue = apiTaskQueue(config.env.PAYMENTS_ENVIRONMENT, checked.value.app);
      return { request: checked.value, settings: payoutSettings(config.env, apiQueue) };
    },
    async prepareRead(app, openId) {
      const plan = readPlan(config, app);
      return typeof openId === 'string' ? { ...plan, caller: { ...plan.caller, openId } } : plan;
    },
    async lookAtWorker() {
      return {
        nowMs: clock.wallMs(),
        environment: config.env.PAYMENTS_ENVIRONMENT,
        applications: [...config.applications.keys()],
        payloadKeys: config.keys.payloads?.ids ?? [],
        tokenKeys: config.keys.tokens?.ids ?? [],
      };
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
  start: StartFacts,
): FieldError[] {
  const { app, partnerOrderId } = request;
  return [
    ...(applications.has(app) ? [] : [NOT_CONFIGURED]),
    ...userMissing(env, request),
    ...otherEnvironment(env, start.environment),
    ...otherId('partnerOrderId', start, payoutWorkflowId(app, partnerOrderId)),
  ];
}

function notOpenedHere(
  { env, applications }: WorkerConfig,
  { app, openId, requestId }: CheckedOpeningRequest,
  start: StartFacts,
): FieldError[] {
  return [
    ...(applications.has(app) ? [] : [NOT_CONFIGURED]),
    ...(env.PAYMENTS_GATEWAY_TOKEN === 'user' && openId === undefined ? [USER_MISSING] : []),
    ...otherEnvironment(env, start.environment),
    ...otherId('requestId', start, receivingAccountWorkflowId(app, requestId)),
  ];
}

/** The workflow id is what makes a number unique: under any other id the same could be started twice. */
function otherId(path: string, { workflowId }: StartFacts, expected: string): FieldError[] {
  if (workflowId === expected) return [];
  return [{ path, message: `must be started under the workflow id ${expected}` }];
}

const USER_MISSING = { path: 'openId', message: 'is needed: calls are made with the token of a user' };

export function userMissing(
  { PAYMENTS_GATEWAY_TOKEN, PAYMENTS_TRADE_TOKEN }: WorkerConfig['env'],
  { openId }: CheckedPayoutRequest,
): FieldError[] {
  const asUser = PAYMENTS_GATEWAY_TOKEN === 'user' || PAYMENTS_TRADE_TOKEN === 'user';
  if (!asUser || openId !== undefined) return [];
  return [USER_MISSING];
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
