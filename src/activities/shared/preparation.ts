/** The first activity of each workflow: rejects bad input and fixes the settings. */
import { activityInfo } from '@temporalio/activity';
import { z } from 'zod';
import type { Application } from '../../config/applications.ts';
import { payoutSettings, sendPolicy, type WorkerConfig } from '../../config/config.ts';
import type { EventType } from '../../contract/codes.ts';
import { appName, checkBody } from '../../contract/fields.ts';
import { apiTaskQueue, payoutWorkflowId, receivingAccountWorkflowId } from '../../contract/ids.ts';
import { type CheckedPayoutRequest, checkPayoutRequest } from '../../contract/payout-request.ts';
import type { SharedSettings } from '../../contract/rate-limit.ts';
import { checkReceivingAccount } from '../../contract/receiving-account.ts';
import { followUpRequestSchema } from '../../contract/reconciliation.ts';
import type { WorkerDescription } from '../../contract/workflows.ts';
import type { PayoutSettings } from '../../domain/payout-record.ts';
import { requiresApproval } from '../../domain/permissions.ts';
import { holdOf } from '../../domain/rate-limit.ts';
import type { FollowUpPlan } from '../../domain/reconciliation-follow-up.ts';
import { HOUR_MS } from '../../domain/time.ts';
import { authorizationUrl } from '../../payments/index.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { eventTypesOf } from '../events/event-activities.ts';
import type { RunBegins } from '../payout/earlier-runs.ts';
import { doubtAbout, type RunFacts } from '../payout/send-once.ts';
import { onlyHere, type Principal, type StartFacts } from './execution.ts';
import {
  failure,
  invalid,
  NOT_CONFIGURED,
  notHere,
  otherId,
  refuse,
  userMissing,
  valid,
  waitByRetry,
} from './failures.ts';
import type { LeaseLooks } from './lease-looks.ts';

const MAX_HINT_PAUSE_MS = 60_000;
const PAUSE_WAITS = { minMs: 1_000, maxMs: 60_000, growth: 1.5 };

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

/** They call nothing, or only Temporal. They fail as `InvalidPayoutRequest` on bad input. */
export function preparation(
  config: WorkerConfig,
  looks: LeaseLooks,
  begins: RunBegins,
  { clock, random }: Runtime,
) {
  const { env, applications, keys } = config;
  const here = onlyHere(env.PAYMENTS_ENVIRONMENT, clock);
  return {
    preparePayout: payoutCheck(config, async ({ appId }) => (await looks.recent(appId)).shared),
    prepareReceivingAccount: async (body: unknown, { workflowId, environment }: StartFacts) => {
      const what = 'receiving account request';
      const request = valid(checkReceivingAccount(body), what);
      const { app, openId, requestId } = request;
      const problems = [
        ...notHere(config, app, environment),
        ...userMissing(config, openId, ['GATEWAY']),
        ...otherId('requestId', workflowId, receivingAccountWorkflowId(app, requestId)),
      ];
      refuse(problems, what);
      return { request, settings: settingsOf(env, app) };
    },
    prepareFollowUp: async (request: unknown) => followUpPlan(config, request),
    /** Whether an earlier run, or a run that a restored Temporal has lost, may have sent the create call. */
    findEarlierSend: (principal: Principal, facts: RunFacts) =>
      here(principal, async () => {
        const application = applications.get(principal.app);
        if (!application) throw failure('WRONG_WORKER', `this worker does not serve ${principal.app}`);
        const policy = sendPolicy(env, await looks.current(application.appId));
        const doubt = await doubtAbout(activityInfo().workflowExecution?.runId, facts, policy, begins);
        // The start of a lost or deleted run proves nothing.
        const provesNothing = policy.createCheck === 'always' || policy.recoveredAtMs !== undefined;
        return doubt ?? (provesNothing && !facts.cleared ? 'earlier-run' : null);
      }),
    /**
     * Whether the pause has ended. Retried while the application is paused, for an hour at most. Uses neither the rate
     * limit nor the queue of the provider calls.
     */
    awaitResume: (principal: Principal) =>
      here(principal, async () => {
        const { attempt, scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
        const application = applications.get(principal.app);
        // The owner learns of the end of a pause a moment later, so the first attempt only waits.
        if (attempt > 1 && application && !holdOf(await looks.recent(application.appId))) return true;
        if (currentAttemptScheduledTimestampMs - scheduledTimestampMs > HOUR_MS) return false;
        // Random, so that waiting payouts do not continue together.
        throw waitByRetry('PAUSED', 'the application is paused', PAUSE_WAITS, 0.5 + random.number() / 2);
      }),
    prepareRead: async (app: unknown, openId?: unknown) => readPlan(config, app, openId),
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
      const request = valid(checkPayoutRequest(body, env.PAYMENTS_TARGET_CURRENCIES));
      return { ...readPlan(config, request.app, request.openId), request };
    },
  };
}

/** Checks a payout's request, and fixes its settings. */
export function payoutCheck(
  config: WorkerConfig,
  sharedOf: (application: Application) => Promise<SharedSettings | undefined>,
) {
  const { env, applications } = config;
  return async (
    body: unknown,
    { workflowId, environment, startedBy }: StartFacts,
  ): Promise<Prepared<CheckedPayoutRequest>> => {
    const request = valid(checkPayoutRequest(body, env.PAYMENTS_TARGET_CURRENCIES));
    const { app, openId, partnerOrderId } = request;
    refuse([
      ...notHere(config, app, environment),
      ...userMissing(config, openId),
      ...otherId('partnerOrderId', workflowId, payoutWorkflowId(app, partnerOrderId)),
    ]);
    const application = applications.get(app);
    const shared = application && (await sharedOf(application));
    // Without settings, or with later ones, the lease owner asks for the approval when it should send.
    const mustBeApproved = shared && requiresApproval(shared.approvals, request.instructedAmount, startedBy);
    return {
      request: { ...request, ...(mustBeApproved && { approval: 'required' }) },
      settings: { ...settingsOf(env, app), ...eventTypesOf(config, app) },
    };
  };
}

function settingsOf(env: WorkerConfig['env'], app: string): PayoutSettings {
  return payoutSettings(env, apiTaskQueue(env.PAYMENTS_ENVIRONMENT, app));
}

function readPlan({ env, applications }: WorkerConfig, app: unknown, openId: unknown): ReadPlan {
  const environment = env.PAYMENTS_ENVIRONMENT;
  if (typeof app !== 'string' || !applications.has(app)) throw invalid([NOT_CONFIGURED]);
  const calls = { apiQueue: apiTaskQueue(environment, app), callTimeoutMs: env.PAYMENTS_CALL_TIMEOUT };
  return { caller: { environment, app, openId: typeof openId === 'string' ? openId : undefined }, calls };
}

function followUpPlan(config: WorkerConfig, request: unknown): FollowUpPlan {
  const { env } = config;
  const { app, environment: meant } = valid(checkBody(followUpRequestSchema, request));
  refuse(notHere(config, app, meant));
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
