/** `/desk/today`: what has been paid today, compared with yesterday; the use of the rate limit; the tokens. */
import type { FastifyInstance } from 'fastify';
import { Leases } from '../client/leases.ts';
import { SharedReads, unlimitedReads } from '../client/shared-reads.ts';
import type { Caller } from '../config/callers.ts';
import { apiTaskQueue, leaseWorkflowId, tokenWorkflowId } from '../contract/ids.ts';
import { type Money, toMinorUnits, totalsByCurrency } from '../contract/money.ts';
import { tokenStateQuery, type WorkflowSignatures } from '../contract/workflows.ts';
import { isScoped } from '../domain/permissions.ts';
import { dayBounds } from '../domain/reconciliation.ts';
import { DAY_MS, dayOf, HOUR_MS, isoTime } from '../domain/time.ts';
import { applicationsWithin } from '../service/permissions.ts';
import { countRuns, listRunPage, quoteIds } from '../temporal/visibility.ts';
import { type Desk, getPage, ifKnown } from './context.ts';
import { amounts, lostIn, outcomeTable, receivedIn, returnedIn, tile } from './ended.ts';
import { bar, duration, type Html, html, table, time } from './html.ts';

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
    const figures = await reads.read(apps?.join(' ') ?? '', () => figuresOf(desk, visit.caller));
    const card = (content: Html) => html`<section class="card">${content}</section>`;
    return {
      ...frame,
      content: html`${tiles(figures)}${volumes(figures)}
${card(durations(figures))}
<h2>System</h2><div class="figures"><div>${card(rateLimits(figures))}</div><div>${card(tokens(figures))}</div></div>
<p class="faint">The day is ${figures.day} (UTC). The figures may be ${FRESH_MS / 1_000} seconds old.</p>`,
    };
  });
}

/** What is compared needs all payouts of both days. */
function tiles({ today, yesterday, open, outcomes, isCut }: Figures): Html {
  const finished = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
  const beside = (sumsOf: typeof receivedIn) =>
    html`Yesterday by this time: ${amounts(sumsOf(yesterday))}${!isCut && changes(sumsOf(today), sumsOf(yesterday))}`;
  const returned = returnedIn(today);
  return html`<div class="tiles">${tile('Received today', amounts(receivedIn(today)), beside(receivedIn))}
${returned.length > 0 && tile('Returned', amounts(returned), 'Of payouts that finished today, so not in what was received')}
${tile('Not received today', amounts(lostIn(today)), beside(lostIn))}
${tile(
  'Payouts',
  html`${finished} <small>finished</small>`,
  html`Yesterday by this time: ${yesterday.length}${!isCut && change(BigInt(finished), BigInt(yesterday.length))}. Open now: ${open}`,
)}</div>`;
}

/** `+12.5 %`, of each currency of the day before. */
export function changes(today: readonly Money[], yesterday: readonly Money[]): Html {
  const now = totalsByCurrency(today);
  return html`${totalsByCurrency(yesterday).map(({ currency, amount }, _at, { length }) => {
    const paid = now.find((one) => one.currency === currency)?.amount ?? '0.00';
    const text = change(toMinorUnits(paid), toMinorUnits(amount));
    return text && html`${text}${length > 1 && ` ${currency}`}`;
  })}`;
}

function change(now: bigint, then: bigint): Html | undefined {
  if (then === 0n) return undefined;
  const tenths = Number(((now - then) * 1_000n) / then);
  const sign = tenths > 0 ? '+' : '';
  return html` <strong>${sign}${(tenths / 10).toFixed(1)} %</strong>`;
}

function volumes({ today, yesterday, outcomes, isCut }: Figures): Html {
  return outcomeTable({
    counts: outcomes,
    payouts: today,
    isCut,
    whole: 'For all of them, see the daily report',
    head: ['Yesterday by this time#', 'Received then#'],
    cells: (outcome) => {
      const then = yesterday.filter((one) => one.outcome === outcome);
      return [then.length, amounts(receivedIn(then))];
    },
  });
}

const DURATIONS: readonly (readonly [name: string, untilMs: number])[] = [
  ['Up to 10 s', 10_000],
  ['Up to 1 min', 60_000],
  ['Up to 10 min', 600_000],
  ['Up to 1 h', HOUR_MS],
  ['Up to 1 d', DAY_MS],
  ['Longer', Number.POSITIVE_INFINITY],
];

function durations({ today }: Figures): Html {
  const times = today.filter(({ outcome }) => outcome !== 'NOT_CREATED').map(({ tookMs }) => tookMs);
  const counts = DURATIONS.map(([, untilMs], at) => {
    const fromMs = DURATIONS[at - 1]?.[1] ?? -1;
    return times.filter((tookMs) => tookMs > fromMs && tookMs <= untilMs).length;
  });
  const sorted = times.toSorted((one, other) => one - other);
  const within = (share: number) => duration(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  if (times.length === 0)
    return html`<h2>Time to final status</h2><p class="faint">No order has finished today.</p>`;
  return html`<h2>Time to final status</h2><p>Half of the orders finished within ${within(0.5)}, nine of ten within ${within(0.9)}.</p>
${table({
  caption: 'From the start of the latest run, including waits for an approval',
  head: ['Time', 'Payouts#', 'Share'],
  rows: DURATIONS.map(([name], at) => [name, counts[at], bar([[counts[at] ?? 0]], times.length)]),
})}`;
}

/** The limit that the provider documents, where operators have set no other one. */
const PROVIDER_LIMIT = 20;

function rateLimits({ apps, moreApps }: Figures): Html {
  return html`<h3>Rate-limit use</h3>${table({
    caption: 'Calls to the provider per second, of the limit',
    head: ['Application', 'Calls per second#', 'Use', 'Waiting calls#'],
    rows: apps.map(({ app, taken, waiting, callsPerSecond }) => {
      const limit = callsPerSecond ?? PROVIDER_LIMIT;
      return [
        app,
        taken === undefined ? 'unknown' : `${taken.toFixed(1)} of ${limit}`,
        taken !== undefined && bar([[taken]], limit),
        waiting ?? 'unknown',
      ];
    }),
  })}${moreApps && html`<p class="faint">There are more applications.</p>`}
<p class="faint">Temporal's estimate of the last seconds, without token calls.</p>`;
}

function tokens({ apps, tokens: { all, needingAttention } }: Figures): Html {
  return html`<h3>Token health</h3>${table({
    caption: 'Tokens',
    head: ['Token', 'State', 'Expires'],
    rows: apps.map(({ app, token }) => [
      `Application ${app}`,
      token?.sentence ?? 'unknown: no worker responds',
      time(token?.expiresAt),
    ]),
  })}<p>${all} ${all === 1 ? 'token' : 'tokens'} of applications and users; ${needingAttention} ${needingAttention === 1 ? 'needs' : 'need'} attention.</p>`;
}

/** Each costs five calls. */
const MAX_APPS = 10;
/** `TASK_QUEUE_TYPE_ACTIVITY` */
const ACTIVITY = 2;

type Figures = Awaited<ReturnType<typeof figuresOf>>;

/** Covers the applications of the caller. */
async function figuresOf(desk: Desk, caller: Caller) {
  const { client, service, runtime } = desk;
  const apps = applicationsWithin(caller);
  const nowMs = runtime.clock.wallMs();
  const day = dayOf(nowMs);
  const { from = '', next: to = '' } = dayBounds(day) ?? {};
  const within = apps === undefined ? '' : ` AND PayoutApp IN (${quoteIds(apps)})`;
  const yesterday = { from: isoTime(Date.parse(from) - DAY_MS), to: isoTime(nowMs - DAY_MS) };
  const renewed = `WorkflowType = 'tokenRenewal' AND ExecutionStatus = 'Running'${within}`;
  const count = (query: string) => service.withTemporalDeadline(() => countRuns(client, query));
  const known = apps ?? (await servedApps(desk));
  const [today, open, earlier, figures, all, needingAttention] = await Promise.all([
    service.statements.finished(caller, { from, to }),
    count(`WorkflowType = 'payout' AND ExecutionStatus = 'Running'${within}`),
    service.statements.finished(caller, yesterday),
    Promise.all(known.slice(0, MAX_APPS).map((app) => appFigures(desk, app))),
    count(renewed),
    count(`${renewed} AND PayoutNeedsAttention = true`),
  ]);
  return {
    /** `YYYY-MM-DD`, UTC. */
    day,
    open,
    /** The last payouts that finished today, and yesterday by this time: at most `MAX_LISTED` of each. */
    today: today.payouts,
    yesterday: earlier.payouts,
    isCut: today.isCut || earlier.isCut,
    apps: figures,
    moreApps: known.length > MAX_APPS,
    outcomes: today.counts,
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
