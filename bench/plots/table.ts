/** The tables of `docs/benchmarks.md`, written from the figures alone. */
import { type About, type Figures, PART_NAMES, type PartName } from '../figures.ts';
import { PLOTS } from './plots.ts';

type Part<Name extends keyof Figures> = NonNullable<Figures[Name]>;
type Row = readonly string[];

const NOT_MEASURED = '–';

export function tables(figures: Figures): string {
  return PART_NAMES.flatMap((name) => {
    const part = figures[name];
    return part ? section(name, part) : [];
  })
    .join('\n')
    .trimEnd();
}

function plotOf(name: (typeof PART_NAMES)[number]): string[] {
  const plot = PLOTS[name];
  return plot ? [`![${plot.shows}](bench/${plot.file})`, ''] : [];
}

function measuredOn({ measuredAt, commit, engine, machine, node, scale }: About): string[] {
  const trial = scale === 1 ? '' : `**A trial at scale ${scale}: do not quote.** `;
  const time = `${measuredAt.slice(0, 16).replace('T', ' ')} UTC`;
  const code = commit === undefined ? '' : `commit \`${commit}\`, `;
  return [`${trial}${time}, ${code}${engine}, Node ${node}, ${machine}.`];
}

const ROWS: { [Name in PartName]: (part: Part<Name>) => string[] } = {
  rateLimit: rateLimitTable,
  backlog: backlogTable,
  handover: handoverTable,
  apps: appsTable,
  polling: pollingTable,
  engine: engineTable,
  waiting: waitingTable,
  api: apiTable,
  connections: connectionsTable,
  events: eventsTable,
  startup: startupTable,
  fleet: fleetTable,
};

function section<Name extends PartName>(name: Name, part: Part<Name>): string[] {
  return [`### ${name}`, '', ...measuredOn(part), '', ...ROWS[name](part), '', ...plotOf(name)];
}

function rateLimitTable(rateLimit: Part<'rateLimit'>): string[] {
  const { jittered, baseline } = rateLimit;
  const runs = [rateLimit, jittered, baseline];
  const row = (what: string, show: (run: typeof baseline) => string) => [what, ...runs.map(show)];
  return table(
    [`${rateLimit.settings['payouts']} payouts`, 'durable-payouts', 'with arrival jitter', 'plain Temporal'],
    [
      row('utilization', (run) => percent(run.utilisation)),
      row('429 responses (create calls)', (run) => `${run.answered429} (${run.creates429})`),
      row('most calls in any second', (run) => `${run.maxCallsInAnySecond}`),
      row('calls per payout', (run) => run.callsPerPayout.toFixed(2)),
      row('payouts per second', (run) => run.payoutsPerSecond.toFixed(2)),
      row('paid once, paid twice', (run) => `${run.paidOnce}, ${run.paidTwice}`),
    ],
  );
}

function backlogTable(backlog: Part<'backlog'>): string[] {
  const runs = [backlog, backlog.baseline];
  const row = (what: string, show: (run: (typeof backlog)['baseline']) => string) => [
    what,
    ...runs.map(show),
  ];
  return table(
    [
      `${backlog.settings['payouts']} payouts at once`,
      'durable-payouts',
      `first in, first out, ${backlog.settings['baselinePayouts']} at once`,
    ],
    [
      row('lock to create, median', (run) => seconds(run.lockToCreateP50)),
      row('lock to create, p99', (run) => seconds(run.lockToCreateP99)),
      row('lock to create, longest', (run) => seconds(run.lockToCreate.at(-1) ?? 0)),
      row('requotes', (run) => `${run.requotes}`),
      row('429 responses', (run) => `${run.answered429}`),
    ],
  );
}

function handoverTable({ settings, killed, stopped, frozen }: Part<'handover'>): string[] {
  const row = (what: string, run: typeof killed) => [
    what,
    seconds(run.gapP50),
    seconds(run.gapMax),
    `${run.answered429}`,
  ];
  return table(
    [`the lease owner is, ${settings['trials']} times`, 'gap, median', 'gap, longest', '429 responses'],
    [row('killed', killed), row('stopped', stopped), row('frozen for 10 s', frozen)],
  );
}

function appsTable({ utilisation, answered429, maxCallsInAnySecond, owners }: Part<'apps'>): string[] {
  const rows = Object.entries(utilisation).map(([app, part]) => [
    app,
    percent(part),
    `${answered429[app] ?? NOT_MEASURED}`,
    `${maxCallsInAnySecond[app] ?? NOT_MEASURED}`,
  ]);
  const head = ['application', 'utilization', '429 responses', 'most calls in any second'];
  return [...table(head, rows), '', `Processes that own a rate limit: ${owners}.`];
}

function pollingTable(polling: Part<'polling'>): string[] {
  return table(
    [`${polling.settings['openPayouts']} open payouts`, 'durable-payouts', 'least possible'],
    [
      ['final to ended, median', seconds(polling.detectP50), seconds(polling.leastPossibleP50)],
      ['final to ended, p99', seconds(polling.detectP99), seconds(polling.leastPossibleP99)],
      [
        'final to ended, longest',
        seconds(polling.detect.at(-1) ?? 0),
        seconds(polling.leastPossible.at(-1) ?? 0),
      ],
      ['polls per payout', polling.pollsPerPayout.toFixed(2), NOT_MEASURED],
      ['429 responses', `${polling.answered429}`, NOT_MEASURED],
    ],
  );
}

function engineTable(engine: Part<'engine'>): string[] {
  const { baseline, settings } = engine;
  const row = (what: string, run: typeof baseline) => [
    what,
    `${run.eventsPerPayout}`,
    `${run.serverCpuPerPayout} ms (${(run.serverCpuPerPayout / baseline.serverCpuPerPayout).toFixed(2)} ×)`,
    `${run.workerCpuPerPayout} ms`,
    `${run.serverCpuAtFullSpeed} ms (${(run.serverCpuAtFullSpeed / baseline.serverCpuAtFullSpeed).toFixed(2)} ×)`,
    `${run.payoutsPerSecondUnlimited}`,
  ];
  return table(
    [
      'subject',
      'history events',
      `server CPU at ${settings['pacePerSecond']} per second`,
      'worker CPU',
      'server CPU at full speed',
      'payouts per second',
    ],
    [
      row('bare workflow', baseline),
      row('… with a separate queue for its calls', engine.queued),
      row('… and a wait for a signal', engine.waiting),
      row('durable-payouts', engine),
    ],
  );
}

function waitingTable(waiting: Part<'waiting'>): string[] {
  return table(
    ['one worker', 'measured'],
    [
      ['open payouts', `${waiting.openPayouts}`],
      ['memory of the worker', `${waiting.workerRss} MiB`],
      ['memory of its successor, all resumed', `${waiting.workerRssAfterResume} MiB`],
      ['all resumed after', seconds(waiting.resumeAll)],
      ['of that, until the process was ready', seconds(waiting.resumeWorkerReady)],
    ],
  );
}

function startupTable(startup: Part<'startup'>): string[] {
  return table(
    [`a worker of the image, ${startup.settings['rounds']} starts`, 'measured'],
    [
      ['size of the application, with its packages', `${startup.imageMiB} MiB`],
      ['until it takes tasks, median', seconds(startup.ready)],
      ['until it holds the rate limit and its first call arrives, median', seconds(startup.firstCall)],
      ['the same, longest', seconds(startup.longestFirstCall)],
      ['CPU time until then, median', seconds(startup.cpu)],
    ],
  );
}

function fleetTable({ settings, ready, owned, idle, rolled, lost }: Part<'fleet'>): string[] {
  const kinds = Object.entries(idle.requests).sort(([, one], [, other]) => other - one);
  return [
    ...table(
      [`${settings['applications']} applications on ${settings['workers']} processes`, 'measured'],
      [
        ['until the processes are ready', seconds(ready)],
        ['until each lease has an owner', seconds(owned)],
        ['memory of a process, the largest', `${idle.rss} MiB`],
        ['CPU of the processes, idle', `${idle.workersCpu} ms/s`],
        ['CPU of the server, idle', `${idle.serverCpu} ms/s`],
        ['rolling restart', seconds(rolled.restarted)],
        ['until the leases are level again', seconds(rolled.levelAfter)],
        ['all but one killed: it owns all leases after', seconds(lost.ownedAfter)],
        ['most requests in a second until then', `${lost.mostRequestsPerSecond}`],
      ],
    ),
    '',
    ...table(
      ['idle requests to Temporal', 'per second'],
      kinds.map(([kind, perSecond]) => [`\`${kind}\``, perSecond.toFixed(2)]),
    ),
  ];
}

function eventsTable(events: Part<'events'>): string[] {
  const { none, healthy, dead, ratios, eventsPerDelivery, requestsPerDelivery } = events;
  const row = (what: string, show: (run: typeof none) => string) => [
    what,
    ...[none, healthy, dead].map(show),
  ];
  return [
    ...table(
      [
        `${events.settings['payouts']} payouts`,
        'no endpoint',
        'an endpoint that responds',
        'an endpoint that never responds',
      ],
      [
        row('time per payout, median', (run) => `${run.timeP50.toFixed(0)} ms`),
        row('time per payout, 99%', (run) => `${run.timeP99.toFixed(0)} ms`),
        ['median, to no endpoint', '1', `${ratios.healthy.timeP50}`, `${ratios.dead.timeP50}`],
        row('history events per payout', (run) => `${run.eventsPerPayout}`),
        row('requests to Temporal per payout', (run) => `${run.requestsPerPayout}`),
      ],
    ),
    '',
    `A delivery adds ${eventsPerDelivery.payout} history events to the payout, ${eventsPerDelivery.delivery} to the delivery workflow, and ${requestsPerDelivery} requests.`,
  ];
}

function connectionsTable({ settings, ...measured }: Part<'connections'>): string[] {
  const { perSecond, perSecondStalled, ratio, held, rss, rssStalled, failed } = measured;
  return table(
    ['requests of another address', 'alone', `${settings['opened']} stalled connections`],
    [
      ['per second', `${perSecond}`, `${perSecondStalled} (${percent(ratio)})`],
      ['stalled connections that are held', NOT_MEASURED, `${held}`],
      ['memory', `${rss} MiB`, `${rssStalled} MiB`],
      ['failed, in both', `${failed}`, NOT_MEASURED],
    ],
  );
}

function apiTable(api: Part<'api'>): string[] {
  const row = (what: string, { flooded, ratio, failed, ...alone }: typeof api.reads) => [
    what,
    alone.perSecond.toFixed(0),
    `${alone.p50} ms`,
    `${alone.p99} ms`,
    `${alone.rss} MiB`,
    `${flooded.perSecond.toFixed(0)} (${percent(ratio.perSecond)})`,
    `${flooded.p50} ms (${ratio.p50.toFixed(2)} ×)`,
    `${flooded.p99} ms (${ratio.p99.toFixed(2)} ×)`,
    `${flooded.rss} MiB`,
    `${failed}`,
  ];
  const head = ['requests', 'per second', 'p50', 'p99', 'memory'];
  const besideFlood = ['per second with the flood', 'p50', 'p99', 'memory', 'failed'];
  const junk = Object.entries(api.junkAnswers).map(([status, count]) => `${count} × ${status}`);
  return [
    ...table(
      [...head, ...besideFlood],
      [
        row('`GET` of a payout', api.reads),
        row('`POST /v1/payouts`', api.starts),
        row('notifications', api.notifications),
      ],
    ),
    '',
    `Memory before the first request: ${api.idleRss} MiB. The flood: ${api.junkPerSecond.toFixed(0)} requests per second, responses ${junk.join(', ')}.`,
  ];
}

/** Padded as a Markdown formatter does. */
function table(head: Row, rows: readonly Row[]): string[] {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((cells) => cells[at]?.length ?? 0)));
  const line = (cells: Row) => {
    const padded = widths.map((width, at) => pad(cells[at] ?? '', width, at));
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)];
}

/** Aligns names left and figures right. */
function pad(cell: string, width: number, at: number): string {
  return at === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
