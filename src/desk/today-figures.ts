/**
 * The figures of a day from Temporal. Visibility counts payouts by outcome; amounts are in their results, which are read
 * one by one, so only those of the last payouts are. Visibility does not know currencies.
 */
import type { Client } from '@temporalio/client';
import { RateLimits } from '../client/rate-limits.ts';
import { OUTCOMES, type PayoutOutcome } from '../contract/codes.ts';
import { apiTaskQueue, leaseWorkflowId, tokenWorkflowId } from '../contract/ids.ts';
import { type Money, totalsByCurrency } from '../contract/money.ts';
import { type PayoutResult, storedResultSchema } from '../contract/payout.ts';
import type { TokenState } from '../contract/tokens.ts';
import { tokenStateQuery, type WorkflowSignatures } from '../contract/workflows.ts';
import { dayBounds, movedMoney } from '../domain/reconciliation.ts';
import { inParallel } from '../runtime/runtime.ts';
import type { Service } from '../service/service.ts';
import { type ListedRun, listRunPage, quoteIds } from '../temporal/visibility.ts';

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

export interface AppFigures {
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
  /** Every payout of the day. */
  outcomes: Record<PayoutOutcome, number>;
  open: number;
  /** The last payouts that ended, at most `MAX_RESULTS`. */
  last: EndedPayout[];
  apps: AppFigures[];
  /** There are more applications than were read. */
  moreApps: boolean;
  userTokens: { all: number; needingAttention: number };
}

interface Source {
  client: Client;
  environment: string;
  service: Pick<Service, 'withTemporalDeadline'>;
}

/** `apps`: undefined for every application. */
export async function figuresOf(
  source: Source,
  apps: readonly string[] | undefined,
  nowMs: number,
): Promise<Figures> {
  const day = new Date(nowMs).toISOString().slice(0, 10);
  const { from = '', until = '' } = dayBounds(day) ?? {};
  const within = apps === undefined ? '' : ` AND PayoutApp IN (${quoteIds(apps)})`;
  const ended = `WorkflowType = 'payout' AND ExecutionStatus = 'Completed' AND CloseTime BETWEEN '${from}' AND '${until}'${within}`;
  const tokens = `WorkflowType = 'tokenRenewal' AND ExecutionStatus = 'Running'${within}`;
  const count = (query: string) => countOf(source, query);
  const known = apps ?? (await servedApps(source));
  const [counts, open, last, figures, all, needingAttention] = await Promise.all([
    Promise.all(OUTCOMES.map((outcome) => count(`${ended} AND PayoutOutcome = '${outcome}'`))),
    count(`WorkflowType = 'payout' AND ExecutionStatus = 'Running'${within}`),
    lastEnded(source, ended),
    Promise.all(known.slice(0, MAX_APPS).map((app) => appFigures(source, app))),
    count(tokens),
    count(`${tokens} AND PayoutNeedsAttention = true`),
  ]);
  const [SUCCESS = 0, PARTIAL_SUCCESS = 0, FAILED = 0, NOT_CREATED = 0] = counts;
  return {
    day,
    open,
    last,
    apps: figures,
    moreApps: known.length > MAX_APPS,
    outcomes: { SUCCESS, PARTIAL_SUCCESS, FAILED, NOT_CREATED },
    userTokens: withoutApplicationTokens({ all, needingAttention }, figures),
  };
}

/** The amounts of payouts with one outcome, one sum for each currency. */
export function sumsOf(ended: readonly EndedPayout[]): { received: Money[]; failed: Money[] } {
  const moved = ended.flatMap(({ result }) => (result ? [movedMoney(result)] : []));
  return {
    received: totalsByCurrency(moved.flatMap(({ received }) => received)),
    failed: totalsByCurrency(moved.flatMap(({ failed }) => failed)),
  };
}

/** The currency that the beneficiary gets, if the result names it. */
export function currencyOf({ result }: EndedPayout): string | undefined {
  return result?.quote?.target.currency ?? result?.received?.currency ?? result?.failed?.currency;
}

async function countOf({ client, service }: Source, query: string): Promise<number> {
  return (await service.withTemporalDeadline(() => client.workflow.count(query))).count;
}

/** The applications that workers serve, by their rate-limit leases. */
async function servedApps({ client, service, environment }: Source): Promise<string[]> {
  const query = "WorkflowType = 'rateLimitLease' AND ExecutionStatus = 'Running'";
  const { runs } = await service.withTemporalDeadline(() => listRunPage(client, query, MAX_APPS * 10));
  const here = runs.filter(({ workflowId }) => workflowId.startsWith(leaseWorkflowId(environment, '')));
  return [...new Set(here.map((run) => String(run.attribute('PayoutApp') ?? '')))].filter(Boolean).sort();
}

async function lastEnded({ client, service }: Source, query: string): Promise<EndedPayout[]> {
  const { runs } = await service.withTemporalDeadline(() => listRunPage(client, query, MAX_RESULTS));
  const read = await inParallel(runs, (run) => endedPayout(client, service, run), RESULTS_AT_ONCE);
  return read.filter((one) => one !== undefined);
}

/** Undefined for a payout without an outcome, which is not expected. */
async function endedPayout(
  client: Client,
  { withTemporalDeadline }: Source['service'],
  run: ListedRun,
): Promise<EndedPayout | undefined> {
  const { workflowId, runId, startedMs, closedMs = startedMs } = run;
  const outcome = OUTCOMES.find((known) => known === run.attribute('PayoutOutcome'));
  if (!outcome) return undefined;
  const read = await orUndefined(() =>
    withTemporalDeadline(() => client.workflow.getHandle(workflowId, runId).result()),
  );
  return { outcome, tookMs: closedMs - startedMs, result: storedResultSchema.safeParse(read).data };
}

async function appFigures({ client, environment, service }: Source, app: string): Promise<AppFigures> {
  const { withTemporalDeadline } = service;
  const limits = new RateLimits(client, environment);
  const renewal = client.workflow.getHandle<WorkflowSignatures['tokenRenewal']>(tokenWorkflowId(app));
  const [limit, queue, token] = await Promise.all([
    orUndefined(() => withTemporalDeadline(() => limits.state(app))),
    orUndefined(() =>
      withTemporalDeadline(() =>
        client.workflowService.describeTaskQueue({
          namespace: client.options.namespace,
          taskQueue: { name: apiTaskQueue(environment, app) },
          taskQueueType: ACTIVITY,
          reportStats: true,
        }),
      ),
    ),
    orUndefined(() => withTemporalDeadline(() => renewal.query(tokenStateQuery))),
  ]);
  const { tasksDispatchRate, approximateBacklogCount } = queue?.stats ?? {};
  return {
    app,
    token,
    callsPerSecond: limit?.callsPerSecond,
    taken: tasksDispatchRate ?? undefined,
    waiting: approximateBacklogCount == null ? undefined : Number(approximateBacklogCount),
  };
}

/** Without a worker or a lease, a figure is unknown. */
async function orUndefined<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch {
    return undefined;
  }
}

function withoutApplicationTokens(
  { all, needingAttention }: Figures['userTokens'],
  apps: readonly AppFigures[],
): Figures['userTokens'] {
  const tokens = apps.flatMap(({ token }) => (token ? [token] : []));
  return {
    all: Math.max(0, all - tokens.length),
    needingAttention: Math.max(0, needingAttention - tokens.filter((token) => token.needsAttention).length),
  };
}
