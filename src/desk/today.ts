/**
 * `/desk/today`: the payouts of the day, the use of the rate limit and the tokens, as tables with bars. Visibility counts
 * payouts by outcome; amounts and currencies are in their results, which are read one by one, so only those of the last
 * payouts are.
 */
import type { FastifyInstance } from 'fastify';
import { Leases } from '../client/leases.ts';
import { SharedReads, unlimitedReads } from '../client/shared-reads.ts';
import { OUTCOMES } from '../contract/codes.ts';
import { apiTaskQueue, leaseWorkflowId, tokenWorkflowId } from '../contract/ids.ts';
import { storedResultSchema } from '../contract/payout.ts';
import { tokenStateQuery, type WorkflowSignatures } from '../contract/workflows.ts';
import { isScoped } from '../domain/permissions.ts';
import { dayBounds, movedMoney } from '../domain/reconciliation.ts';
import { DAY_MS, HOUR_MS } from '../domain/time.ts';
import { inParallel } from '../runtime/runtime.ts';
import { applicationsWithin } from '../service/permissions.ts';
import { countRuns, type ListedRun, listRunPage, quoteIds } from '../temporal/visibility.ts';
import { type Desk, getPage } from './context.ts';
import { type Html, html, label, table, time, totals } from './html.ts';

/** All reloads in this time share one reading. */
const FRESH_MS = 15_000;

export function todayRoutes(scope: FastifyInstance, desk: Desk): void {
  const reads = new SharedReads<Figures>({
    ...unlimitedReads(),
    freshMs: FRESH_MS,
    clock: desk.runtime.clock,
  });

  getPage(scope, desk, '/today', async (visit) => {
    const frame = { title: 'Today', section: 'Today' } as const;
    if (isScoped(visit.caller))
      return {
        ...frame,
        content: html`<p class="warning">Your key is limited to clients, payers, users or a prefix: the figures cover all of them.</p>`,
      };
    const apps = applicationsWithin(visit.caller);
    const figures = await reads.read(apps?.join(' ') ?? '', () => figuresOf(desk, apps));
    const parts = [volumes, outcomes, durations, rateLimits, tokens].map((part) => part(figures));
    return {
      ...frame,
      content: html`<p>Payouts that finished on ${figures.day} (UTC). ${figures.open} are open now. The figures may be ${FRESH_MS / 1_000} seconds old.</p>
<div class="figures">${parts.map((part) => html`<section class="card">${part}</section>`)}</div>`,
    };
  });
}

function bar(value: number, all: readonly number[]): Html {
  return html`${value} <meter aria-hidden="true" value="${value}" max="${Math.max(1, ...all)}"></meter>`;
}

function outcomes({ outcomes }: Figures): Html {
  const counts = [...outcomes.values()];
  return html`<h2>Payouts by outcome</h2>${table({
    caption: 'Every payout that finished today',
    head: ['Outcome', 'Payouts'],
    rows: Array.from(outcomes, ([outcome, count]) => [label(outcome), bar(count, counts)]),
  })}`;
}

function volumes(figures: Figures): Html {
  const { last } = figures;
  const groups = [...new Set(last.map(currencyOf))].sort().flatMap((currency) =>
    OUTCOMES.map((outcome) => ({
      currency,
      outcome,
      ended: last.filter((one) => currencyOf(one) === currency && one.outcome === outcome),
    })),
  );
  const shown = groups.filter(({ ended }) => ended.length > 0);
  const counts = shown.map(({ ended }) => ended.length);
  return html`<h2>Volumes by outcome and currency</h2>${table({
    caption: `Payouts and amounts, ${sampleText(figures)}`,
    head: ['Currency', 'Outcome', 'Payouts', 'Received', 'Failed'],
    rows: shown.map(({ currency, outcome, ended }) => {
      const moved = ended.flatMap(({ result }) => (result ? [movedMoney(result)] : []));
      const sum = (kind: 'received' | 'failed') => totals(moved.flatMap((one) => one[kind]));
      return [currency, label(outcome), bar(ended.length, counts), sum('received'), sum('failed')];
    }),
  })}<p class="faint">Amounts cover the last ${MAX_RESULTS} payouts. For all of them, see the daily report.</p>`;
}

/** The currency that the beneficiary gets, if the result names it. */
function currencyOf({ result }: EndedPayout): string {
  const { quote, received, failed } = result ?? {};
  return quote?.target.currency ?? received?.currency ?? failed?.currency ?? 'Without a quote';
}

const DURATIONS: readonly (readonly [name: string, untilMs: number])[] = [
  ['Up to 10 s', 10_000],
  ['Up to 1 min', 60_000],
  ['Up to 10 min', 600_000],
  ['Up to 1 h', HOUR_MS],
  ['Up to 1 d', DAY_MS],
  ['Longer', Number.POSITIVE_INFINITY],
];

function durations(figures: Figures): Html {
  const created = figures.last.filter(({ outcome }) => outcome !== 'NOT_CREATED');
  const counts = DURATIONS.map(([, untilMs], at) => {
    const fromMs = DURATIONS[at - 1]?.[1] ?? -1;
    return created.filter(({ tookMs }) => tookMs > fromMs && tookMs <= untilMs).length;
  });
  return html`<h2>Time to final status</h2>${table({
    caption: `Payouts with an order, ${sampleText(figures)}`,
    head: ['Time', 'Payouts'],
    rows: DURATIONS.map(([name], at) => [name, bar(counts[at] ?? 0, counts)]),
  })}<p class="faint">From the start of the payout, including waits for an approval. A payout that is open for many hours continues in a new run; the time starts with that run.</p>`;
}

function rateLimits({ apps, moreApps }: Figures): Html {
  const rounded = (rate: number) => Math.round(rate * 10) / 10;
  const rates = apps.map(({ taken = 0 }) => rounded(taken));
  return html`<h2>Rate-limit use</h2>${table({
    caption: 'Calls to the provider by application',
    head: ['Application', 'Calls per second', 'Waiting calls', 'Limit per second'],
    rows: apps.map(({ app, taken, waiting, callsPerSecond }) => [
      app,
      taken === undefined ? 'unknown' : bar(rounded(taken), rates),
      waiting ?? 'unknown',
      // Null: nobody has set one.
      callsPerSecond === null
        ? 'the setting of the workers'
        : (callsPerSecond ?? 'unknown: no worker serves it'),
    ]),
  })}${moreApps && html`<p class="faint">There are more applications.</p>`}
<p class="faint">Temporal's estimate of the last seconds, without token calls. The workers' metrics are exact.</p>`;
}

function tokens({ apps, tokens: { all, needingAttention } }: Figures): Html {
  return html`<h2>Token health</h2>${table({
    caption: 'Tokens',
    head: ['Token', 'State', 'Expires'],
    rows: apps.map(({ app, token }) => [
      `Application ${app}`,
      token?.sentence ?? 'unknown: no worker responds',
      time(token?.expiresAt),
    ]),
  })}<p>Of ${all} tokens of applications and users, ${needingAttention} need attention.</p>`;
}

function sampleText({ last, outcomes }: Figures): string {
  const all = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
  return all > last.length ? `the last ${last.length} of ${all}` : 'all of today';
}

/** Each costs one call to Temporal. */
const MAX_RESULTS = 100;
const RESULTS_AT_ONCE = 10;
/** Each costs five calls. */
const MAX_APPS = 10;
/** `TASK_QUEUE_TYPE_ACTIVITY` */
const ACTIVITY = 2;

type Figures = Awaited<ReturnType<typeof figuresOf>>;
type EndedPayout = Figures['last'][number];

/** `apps`: undefined for every application. */
async function figuresOf(desk: Desk, apps: readonly string[] | undefined) {
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
    /** `YYYY-MM-DD`, UTC. */
    day,
    open,
    /** The last payouts that ended, at most `MAX_RESULTS`. */
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

async function lastEnded(desk: Desk, query: string) {
  const { runs } = await desk.service.withTemporalDeadline(() =>
    listRunPage(desk.client, query, MAX_RESULTS),
  );
  const read = await inParallel(runs, (run) => endedPayout(desk, run), RESULTS_AT_ONCE);
  return read.filter((one) => one !== undefined);
}

/** Undefined for a payout without an outcome, which is not expected. */
async function endedPayout({ client, service }: Desk, run: ListedRun) {
  const { workflowId, runId, startedMs, closedMs = startedMs } = run;
  const outcome = OUTCOMES.find((known) => known === run.attribute('PayoutOutcome'));
  if (!outcome) return undefined;
  const result = await ifKnown(
    service.withTemporalDeadline(() => client.workflow.getHandle(workflowId, runId).result()),
  );
  return {
    outcome,
    /** From the start of the latest run to its end. */
    tookMs: closedMs - startedMs,
    /** Undefined if the result could not be read. */
    result: storedResultSchema.safeParse(result).data,
  };
}

/** A figure that is not known is undefined. */
async function appFigures({ client, config, service }: Desk, app: string) {
  const environment = config.PAYMENTS_ENVIRONMENT;
  const { withTemporalDeadline } = service;
  const limits = new Leases(client, environment);
  const renewal = client.workflow.getHandle<WorkflowSignatures['tokenRenewal']>(tokenWorkflowId(app));
  const queue = {
    namespace: client.options.namespace,
    taskQueue: { name: apiTaskQueue(environment, app) },
    taskQueueType: ACTIVITY,
    reportStats: true,
  };
  const [limit, described, token] = await Promise.all([
    ifKnown(withTemporalDeadline(() => limits.rateLimit(app))),
    ifKnown(withTemporalDeadline(() => client.workflowService.describeTaskQueue(queue))),
    ifKnown(withTemporalDeadline(() => renewal.query(tokenStateQuery))),
  ]);
  const { tasksDispatchRate, approximateBacklogCount } = described?.stats ?? {};
  return {
    app,
    token,
    /** Calls to the provider per second that operators set. Null: each worker uses its own setting. */
    callsPerSecond: limit?.callsPerSecond,
    /** Calls that workers have taken per second, and calls that wait for a worker, as Temporal estimates them. */
    taken: tasksDispatchRate ?? undefined,
    waiting: approximateBacklogCount == null ? undefined : Number(approximateBacklogCount),
  };
}

/** Without a worker or a lease, a figure is unknown. */
function ifKnown<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch(() => undefined);
}
