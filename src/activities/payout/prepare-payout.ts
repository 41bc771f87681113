/** The first, local activity of each workflow: rejects bad input and fixes the settings. */
import { activityInfo } from '@temporalio/activity';
import { payoutSettings, sendPolicy, type WorkerConfig } from '../../config/config.ts';
import { apiTaskQueue, payoutWorkflowId, receivingAccountWorkflowId } from '../../contract/ids.ts';
import { type CheckResult, checkPayoutRequest, type FieldError } from '../../contract/payout-request.ts';
import { checkReceivingAccount } from '../../contract/receiving-account.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { followUpPlan } from '../aftercare/prepare-follow-up.ts';
import { invalid, NOT_CONFIGURED, notHere, otherId, userMissing } from '../shared/invalid.ts';
import type { LocalActivities, Prepared, ReadPlan } from '../shared/types.ts';
import { authorizationLink, tokenPlan } from '../tokens/prepare-token.ts';
import { doubtAbout } from './send-once.ts';

export function preparation(config: WorkerConfig, clock: Clock): LocalActivities {
  const { env, applications, keys } = config;
  return {
    preparePayout: async (request, { workflowId, environment }) =>
      prepared(config, checkPayoutRequest(request), ({ app, openId, partnerOrderId }) => [
        ...notHere(config, app, environment),
        ...userMissing(config, openId),
        ...otherId('partnerOrderId', workflowId, payoutWorkflowId(app, partnerOrderId)),
      ]),
    prepareReceivingAccount: async (request, { workflowId, environment }) =>
      prepared(
        config,
        checkReceivingAccount(request),
        ({ app, openId, requestId }) => [
          ...notHere(config, app, environment),
          ...userMissing(config, openId, ['GATEWAY']),
          ...otherId('requestId', workflowId, receivingAccountWorkflowId(app, requestId)),
        ],
        'receiving account request',
      ),
    prepareFollowUp: async (request) => followUpPlan(config, request),
    async doubtAboutEnd(facts) {
      const policy = sendPolicy(env);
      const doubt = doubtAbout(activityInfo().workflowExecution?.runId, facts, policy);
      // The start of a lost or deleted run proves nothing.
      const provesNothing = policy.createCheck === 'always' || policy.recoveredAtMs !== undefined;
      return doubt ?? (provesNothing && !facts.cleared ? 'earlier-run' : null);
    },
    async prepareRead(app, openId) {
      const plan = readPlan(config, app);
      return typeof openId === 'string' ? { ...plan, caller: { ...plan.caller, openId } } : plan;
    },
    async lookAtWorker() {
      return {
        nowMs: clock.wallMs(),
        environment: env.PAYMENTS_ENVIRONMENT,
        applications: [...applications.keys()],
        payloadKeys: keys.payloads?.ids ?? [],
        tokenKeys: keys.tokens?.ids ?? [],
      };
    },
    prepareToken: async (owner) => tokenPlan(config, owner),
    prepareAuthorization: async (owner) => ({
      ...tokenPlan(config, owner),
      link: authorizationLink(config, owner),
    }),
    async prepareQuote(body) {
      const checked = checkPayoutRequest(body);
      if (!checked.ok) throw invalid(checked.errors);
      const { app, openId } = checked.value;
      const plan = readPlan(config, app);
      return { ...plan, caller: { ...plan.caller, openId }, request: checked.value };
    },
  };
}

function prepared<Request extends { app: string }>(
  { env }: WorkerConfig,
  checked: CheckResult<Request>,
  problemsOf: (request: Request) => FieldError[],
  what?: string,
): Prepared<Request> {
  if (!checked.ok) throw invalid(checked.errors, what);
  const request = checked.value;
  const problems = problemsOf(request);
  if (problems.length > 0) throw invalid(problems, what);
  const apiQueue = apiTaskQueue(env.PAYMENTS_ENVIRONMENT, request.app);
  return { request, settings: payoutSettings(env, apiQueue) };
}

function readPlan({ env, applications }: WorkerConfig, app: unknown): ReadPlan {
  const environment = env.PAYMENTS_ENVIRONMENT;
  if (typeof app !== 'string' || !applications.has(app)) throw invalid([NOT_CONFIGURED]);
  const calls = { apiQueue: apiTaskQueue(environment, app), callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT };
  return { caller: { environment, app }, calls };
}
