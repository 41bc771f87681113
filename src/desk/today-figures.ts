/**
 * The figures of a day from Temporal. Visibility counts payouts by outcome; amounts are in their results, which are read
 * one by one, so only those of the last payouts are. Visibility does not know currencies.
 */
import { RateLimits } from '../client/rate-limits.ts';
import { OUTCOMES, type PayoutOutcome } from '../contract/codes.ts';
import { apiTaskQueue, leaseWorkflowId, tokenWorkflowId } from '../contract/ids.ts';
import { type PayoutResult, storedResultSchema } from '../contract/payout.ts';
import type { TokenState } from '../contract/tokens.ts';
import { tokenStateQuery, type WorkflowSignatures } from '../contract/workflows.ts';
import { dayBounds } from '../domain/reconciliation.ts';
import { inParallel } from '../runtime/runtime.ts';
import { countRuns, type ListedRun, listRunPage, quoteIds } from '../temporal/visibility.ts';
import type { Desk } from './context.ts';

/** Each costs one call to Temporal. */
export const MAX_RESULTS = 100;
const RESULTS_AT_ONCE = 10;
/** Each costs five calls. */
const MAX_APPS = 10;
/** `TASK_QUEUE_TYPE_ACTIVITY` */
const ACTIVITY = 2;

export interface EndedPayout {
  outcome: PayoutOutcome;
  /** From the start of the latest run to its end. */
  tookMs: number;
  /** Undefined if the result could not be read. */
  result: Pick<PayoutResult, 'received' | 'failed' | 'splits' | 'quote'> | undefined;
}

interface AppFigures {
  app: string;
  /** Calls to the provider per second that operators set. Null: each worker uses its own setting. Undefined: unknown. */
  callsPerSecond: number | null | undefined;
  /** Calls that workers have taken per second, and calls that wait for a worker, as Temporal estimates them. */
  taken: number | undefined;
  waiting: number | undefined;
  /** The application's token. Undefined if it is not known. */
  token: TokenState | undefined;
}

export interface Figures {
  /** `YYYY-MM-DD`, UTC. */
  day: string;
  /** The number of payouts of the day, by outcome. */
  outcomes: ReadonlyMap<PayoutOutcome, number>;
  open: number;
  /** The last payouts that ended, at most `MAX_RESULTS`. */
  last: EndedPayout[];
  apps: AppFigures[];
  /** There are more applications than were read. */
  moreApps: boolean;
  /** The tokens of applications and users. */
  tokens: { all: number; needingAttention: number };
}

/** `apps`: undefined for every application. */
export async function figuresOf(desk: Desk, apps: readonly string[] | undefined): Promise<Figures> {
  const { client, service, runtime } = desk;
  const day = new Date(runtime.clock.wallMs()).toISOString().slice(0, 10);
  const { from = '', until = '' } = dayBounds(day) ?? {};
  const within = apps === undefined ? '' : ` AND PayoutApp IN (${quoteIds(apps)})`;
  const ended = `WorkflowType = 'payout' AND ExecutionStatus = 'Completed' AND CloseTime BETWEEN '${from}' AND '${until}'${within}`;
  const renewed = `WorkflowType = 'tokenRenewal' AND ExecutionStatus = 'Running'${within}`;
  const count = (query: string) => service.withTemporalDeadline(() => countRuns(client, query));
  const known = apps ?? (await servedApps(desk));
  const [counts, open, last, figures, all, needingAttention] = await Promise.all([
    Promise.all(
      OUTCOMES.map(
        async (outcome) => [outcome, await count(`${ended} AND PayoutOutcome = '${outcome}'`)] as const,
      ),
    ),
    count(`WorkflowType = 'payout' AND ExecutionStatus = 'Running'${within}`),
    lastEnded(desk, ended),
    Promise.all(known.slice(0, MAX_APPS).map((app) => appFigures(desk, app))),
    count(renewed),
    count(`${renewed} AND PayoutNeedsAttention = true`),
  ]);
  return {
    day,
    open,
    last,
    apps: figures,
    moreApps: known.length > MAX_APPS,
    outcomes: new Map(counts),
    tokens: { all, needingAttention },
  };
}

/** The applications that workers serve, by their rate-limit leases. */
async function servedApps({ client, service, config }: Desk): Promise<string[]> {
  const query = "WorkflowType = 'rateLimitLease' AND ExecutionStatus = 'Running'";
  const { runs } = await service.withTemporalDeadline(() => listRunPage(client, query, MAX_APPS * 10));
  const here = runs.filter(({ workflowId }) =>
    workflowId.startsWith(leaseWorkflowId(config.PAYMENTS_ENVIRONMENT, '')),
  );
  return [...new Set(here.map((run) => String(run.attribute('PayoutApp') ?? '')))].filter(Boolean).sort();
}

async function lastEnded(desk: Desk, query: string): Promise<EndedPayout[]> {
  const { runs } = await desk.service.withTemporalDeadline(() =>
    listRunPage(desk.client, query, MAX_RESULTS),
  );
  const read = await inParallel(runs, (run) => endedPayout(desk, run), RESULTS_AT_ONCE);
  return read.filter((one) => one !== undefined);
}

/** Undefined for a payout without an outcome, which is not expected. */
async function endedPayout({ client, service }: Desk, run: ListedRun): Promise<EndedPayout | undefined> {
  const { workflowId, runId, startedMs, closedMs = startedMs } = run;
  const outcome = OUTCOMES.find((known) => known === run.attribute('PayoutOutcome'));
  if (!outcome) return undefined;
  const result = await ifKnown(
    service.withTemporalDeadline(() => client.workflow.getHandle(workflowId, runId).result()),
  );
  return { outcome, tookMs: closedMs - startedMs, result: storedResultSchema.safeParse(result).data };
}

async function appFigures({ client, config, service }: Desk, app: string): Promise<AppFigures> {
  const environment = config.PAYMENTS_ENVIRONMENT;
  const { withTemporalDeadline } = service;
  const limits = new RateLimits(client, environment);
  const renewal = client.workflow.getHandle<WorkflowSignatures['tokenRenewal']>(tokenWorkflowId(app));
  const queue = {
    namespace: client.options.namespace,
    taskQueue: { name: apiTaskQueue(environment, app) },
    taskQueueType: ACTIVITY,
    reportStats: true,
  };
  const [limit, described, token] = await Promise.all([
    ifKnown(withTemporalDeadline(() => limits.state(app))),
    ifKnown(withTemporalDeadline(() => client.workflowService.describeTaskQueue(queue))),
    ifKnown(withTemporalDeadline(() => renewal.query(tokenStateQuery))),
  ]);
  const { tasksDispatchRate, approximateBacklogCount } = described?.stats ?? {};
  return {
    app,
    token,
    callsPerSecond: limit?.callsPerSecond,
    taken: tasksDispatchRate ?? undefined,
    waiting: approximateBacklogCount == null ? undefined : Number(approximateBacklogCount),
  };
}

/** Without a worker or a lease, a figure is unknown. */
function ifKnown<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch(() => undefined);
}
