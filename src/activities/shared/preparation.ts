/** The first activity of each workflow: rejects bad input and fixes the settings. */
import { activityInfo } from '@temporalio/activity';
import { z } from 'zod';
import type { Application } from '../../config/applications.ts';
import { payoutSettings, sendPolicy, type WorkerConfig } from '../../config/config.ts';
import type { EventType } from '../../contract/codes.ts';
import type { FieldError } from '../../contract/failures.ts';
import { appName, type CheckResult, checkBody } from '../../contract/fields.ts';
import { apiTaskQueue, payoutWorkflowId, receivingAccountWorkflowId } from '../../contract/ids.ts';
import { type CheckedPayoutRequest, checkPayoutRequest } from '../../contract/payout-request.ts';
import { checkReceivingAccount } from '../../contract/receiving-account.ts';
import { followUpRequestSchema } from '../../contract/reconciliation.ts';
import type { WorkerDescription } from '../../contract/workflows.ts';
import type { PayoutSettings } from '../../domain/payout-record.ts';
import { requiresApproval } from '../../domain/permissions.ts';
import type { FollowUpPlan } from '../../domain/reconciliation-follow-up.ts';
import { authorizationUrl } from '../../payments/index.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { eventTypesOf } from '../events/event-activities.ts';
import { doubtAbout, type RunFacts } from '../payout/send-once.ts';
import { onlyHere, type Principal, type StartFacts, wrongWorker } from './execution.ts';
import { invalid, NOT_CONFIGURED, notHere, otherId, refuse, userMissing } from './failures.ts';
import type { LeaseLooks } from './lease-looks.ts';

const MAX_HINT_PAUSE_MS = 60_000;

const ownerSchema = z.object({ environment: z.string(), app: appName });

export interface Prepared<Request> {
  request: Request;
  settings: PayoutSettings;
}

/** For whom, on which queue and how long a single read is called. */
interface ReadPlan {
  caller: Principal;
  calls: Pick<PayoutSettings, 'apiQueue' | 'callTimeoutMs'>;
}

export interface TokenPlan {
  callTimeoutMs: number;
  /** See `PayoutSettings`. */
  eventTypes?: EventType[];
}

/** They make no call. They fail as `InvalidPayoutRequest` on bad input. */
export function preparation(
  config: WorkerConfig,
  looks: Pick<LeaseLooks, 'recent' | 'current'>,
  clock: Clock,
) {
  const { env, applications, keys } = config;
  const here = onlyHere(env.PAYMENTS_ENVIRONMENT, clock);
  return {
    preparePayout: async (
      body: unknown,
      { workflowId, environment, startedBy }: StartFacts,
    ): Promise<Prepared<CheckedPayoutRequest>> => {
      const { request, settings } = prepared(
        config,
        checkPayoutRequest(body, env.PAYMENTS_TARGET_CURRENCIES),
        ({ app, openId, partnerOrderId }) => [
          ...notHere(config, app, environment),
          ...userMissing(config, openId),
          ...otherId('partnerOrderId', workflowId, payoutWorkflowId(app, partnerOrderId)),
        ],
      );
      const { appId } = applicationOf(config, { environment: env.PAYMENTS_ENVIRONMENT, app: request.app });
      const { shared } = await looks.recent(appId);
      // Without settings, or with later ones, the lease owner asks for the approval when it should send.
      const mustBeApproved =
        shared && requiresApproval(shared.approvals, request.instructedAmount, startedBy);
      return {
        request: { ...request, ...(mustBeApproved && { approval: 'required' }) },
        settings: { ...settings, ...eventTypesOf(config, request.app) },
      };
    },
    prepareReceivingAccount: async (request: unknown, { workflowId, environment }: StartFacts) =>
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
    prepareFollowUp: async (request: unknown) => followUpPlan(config, request),
    /** Whether an earlier run, or a run that a restored Temporal has lost, may have sent the create. */
    findEarlierSend: (principal: Principal, facts: RunFacts) =>
      here(principal, async () => {
        const application = applications.get(principal.app);
        if (!application) throw wrongWorker(`this worker does not serve ${principal.app}`);
        const policy = sendPolicy(env, await looks.current(application.appId));
        const doubt = doubtAbout(activityInfo().workflowExecution?.runId, facts, policy);
        // The start of a lost or deleted run proves nothing.
        const provesNothing = policy.createCheck === 'always' || policy.recoveredAtMs !== undefined;
        return doubt ?? (provesNothing && !facts.cleared ? 'earlier-run' : null);
      }),
    async prepareRead(app: unknown, openId?: unknown): Promise<ReadPlan> {
      const plan = readPlan(config, app);
      return typeof openId === 'string' ? { ...plan, caller: { ...plan.caller, openId } } : plan;
    },
    async describeWorker(from: string): Promise<WorkerDescription & { from: string }> {
      return {
        from,
        nowMs: clock.wallMs(),
        environment: env.PAYMENTS_ENVIRONMENT,
        applications: [...applications.keys()],
        payloadKeys: keys.payloads?.ids ?? [],
        tokenKeys: keys.tokens?.ids ?? [],
        authorizationKeys: keys.authorizations?.ids ?? [],
      };
    },
    async prepareToken(owner: unknown): Promise<TokenPlan> {
      const { name } = applicationOf(config, owner);
      return { callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT, ...eventTypesOf(config, name) };
    },
    /** `link` lacks `state`, which is a secret of the browser and the API server. */
    async prepareAuthorization(owner: unknown): Promise<TokenPlan & { link: string }> {
      const link = authorizationLink(config, applicationOf(config, owner));
      return { callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT, link };
    },
    async prepareQuote(body: unknown): Promise<ReadPlan & { request: CheckedPayoutRequest }> {
      const checked = checkPayoutRequest(body, env.PAYMENTS_TARGET_CURRENCIES);
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
  refuse(problemsOf(request), what);
  const apiQueue = apiTaskQueue(env.PAYMENTS_ENVIRONMENT, request.app);
  return { request, settings: payoutSettings(env, apiQueue) };
}

function readPlan({ env, applications }: WorkerConfig, app: unknown): ReadPlan {
  const environment = env.PAYMENTS_ENVIRONMENT;
  if (typeof app !== 'string' || !applications.has(app)) throw invalid([NOT_CONFIGURED]);
  const calls = { apiQueue: apiTaskQueue(environment, app), callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT };
  return { caller: { environment, app }, calls };
}

function followUpPlan(config: WorkerConfig, request: unknown): FollowUpPlan {
  const { env } = config;
  const parsed = checkBody(followUpRequestSchema, request);
  if (!parsed.ok) throw invalid(parsed.errors);
  const { app } = parsed.value;
  refuse(notHere(config, app, parsed.value.environment));
  const environment = env.PAYMENTS_ENVIRONMENT;
  return {
    environment,
    apiQueue: apiTaskQueue(environment, app),
    callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT,
    checksAfterMs: env.PAYOUTS_FOLLOW_UP,
    hintPauseMs: Math.min(MAX_HINT_PAUSE_MS, 2 * env.PAYOUTS_POLL_FIRST),
    ...eventTypesOf(config, app),
  };
}

/** Without `state`, which only the browser and the API server know. */
function authorizationLink({ env }: WorkerConfig, { appId, redirectUri }: Application): string {
  if (redirectUri === undefined)
    throw invalid([{ path: 'app', message: 'has no redirect URI: set PAYMENTS_REDIRECT_URI' }]);
  const {
    PAYMENTS_AUTH_URL: authUrl,
    PAYMENTS_ALLOWED_HOSTS: allowedHosts,
    PAYMENTS_AUTH_SPELLING: spelling,
  } = env;
  const page = { appId, authUrl, redirectUri, ...(allowedHosts && { allowedHosts }) };
  return authorizationUrl(page, { spelling }).toString();
}

function applicationOf(config: WorkerConfig, owner: unknown): Application {
  const { success, data } = ownerSchema.safeParse(owner);
  const application = success ? config.applications.get(data.app) : undefined;
  if (!success || !application) throw invalid([NOT_CONFIGURED]);
  refuse(notHere(config, data.app, data.environment));
  return application;
}
