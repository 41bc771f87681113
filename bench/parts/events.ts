/**
 * Part 10: what outgoing events cost. Three applications in one process pay at the same pace, one after another: without an
 * endpoint, with one that answers at once, and with one that never answers.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { request } from 'undici';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { Events } from '../../src/client/events.ts';
import { round } from '../measures.ts';
import { benchRequest, completed, countOf, patienceMs } from '../pay.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { type Say, steadily, untilCounted } from '../waits.ts';
import { SOON_FINAL, UNLIMITED } from './settings.ts';

const APPS = ['none', 'healthy', 'dead'] as const;
type App = (typeof APPS)[number];
/** Forward and backward, so that a drift in the speed of the machine affects all of them. */
const ORDER: readonly App[] = ['none', 'healthy', 'dead', 'dead', 'healthy', 'none'];
const PACE_PER_SECOND = 5;
const WARM_UP = 50;

interface Run {
  timeP50: number;
  timeP99: number;
  eventsPerPayout: number;
  requestsPerPayout: number;
}

export async function events(payouts: number, say: Say) {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-bench-events-'));
  const server = createServer((incoming, response) => {
    incoming.resume();
    // The other endpoint never answers.
    if (incoming.url === '/healthy') incoming.on('end', () => response.writeHead(204).end());
  });
  const [port = 0, metricsPort = 0] = await freePorts(2);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const file = join(folder, 'events.json');
  writeFileSync(file, JSON.stringify((['healthy', 'dead'] as const).map((app) => entry(app, port))));
  const env = {
    ...UNLIMITED.env,
    PAYOUTS_EVENTS_FILE: file,
    PAYOUTS_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
  };
  try {
    return await withStage({ apps: APPS, workers: 1, simulator: UNLIMITED.simulator, env }, (stage) =>
      measureAll({ stage, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`, payouts, say }),
    );
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  }
}

function entry(application: string, port: number) {
  return {
    ...{ name: 'shop', application, url: `http://127.0.0.1:${port}/${application}` },
    ...{ secrets: [`whsec_${randomBytes(32).toString('base64')}`], allowPrivateAddress: true },
  };
}

interface Stage {
  stage: BenchStage;
  metricsUrl: string;
  payouts: number;
  say: Say;
}

async function measureAll(parts: Stage) {
  const { stage, payouts, say } = parts;
  const runs: Record<App, Run[]> = { none: [], healthy: [], dead: [] };
  let number = 0;
  const next = (count: number) => Array.from({ length: count }, () => number++);
  for (const app of APPS) await pay(parts, app, next(WARM_UP));
  for (const app of ORDER) {
    say(app);
    runs[app].push(await pay(parts, app, next(payouts)));
  }
  const [none, healthy, dead] = [mean(runs.none), mean(runs.healthy), mean(runs.dead)];
  const delivered = await deliveredBy(stage);
  const history = await historyOf(stage, 'healthy');
  const settings = { payouts, rounds: runs.none.length, pacePerSecond: PACE_PER_SECOND, workers: 1 };
  const ratio = (to: Run) => ({
    timeP50: round(to.timeP50 / none.timeP50, 3),
    timeP99: round(to.timeP99 / none.timeP99, 3),
  });
  return {
    settings: { ...settings, ...UNLIMITED.simulator, warmUp: WARM_UP },
    ...{ none, healthy, dead, ratios: { healthy: ratio(healthy), dead: ratio(dead) } },
    /** Of the payout that publishes, and of the delivery. */
    eventsPerDelivery: {
      payout: round(healthy.eventsPerPayout - none.eventsPerPayout, 2),
      delivery: round(history / delivered, 2),
    },
    requestsPerDelivery: round(healthy.requestsPerPayout - none.requestsPerPayout, 2),
  };
}

async function pay({ stage, metricsUrl, say }: Stage, app: App, numbers: readonly number[]): Promise<Run> {
  const before = { ended: await countOf(stage, endedOf(app)), requests: await requestsAt(metricsUrl) };
  const wasDelivered = app === 'healthy' ? await deliveredBy(stage) : 0;
  const begunAt = Date.now();
  await steadily(numbers, PACE_PER_SECOND, async (number) => {
    await stage.payouts.start(benchRequest(number, app, SOON_FINAL));
  });
  const limitMs = patienceMs(numbers.length, PACE_PER_SECOND);
  const wait = (what: string, wanted: number, count: () => Promise<number>) =>
    untilCounted({ what, wanted, count, limitMs, say });
  await wait('ended', before.ended + numbers.length, () => countOf(stage, endedOf(app)));
  if (app === 'healthy') await wait('delivered', wasDelivered + numbers.length, () => deliveredBy(stage));
  const requests = (await requestsAt(metricsUrl)) - before.requests;
  const infos: WorkflowExecutionInfo[] = [];
  for await (const info of stage.client.workflow.list({ query: endedOf(app) }))
    if (info.startTime.getTime() >= begunAt) infos.push(info);
  const times = infos
    .map(({ startTime, closeTime }) => (closeTime?.getTime() ?? 0) - startTime.getTime())
    .sort((one, other) => one - other);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(part * times.length))] ?? 0;
  return {
    timeP50: at(0.5),
    timeP99: at(0.99),
    eventsPerPayout: round(
      infos.reduce((sum, { historyLength }) => sum + historyLength, 0) / infos.length,
      2,
    ),
    requestsPerPayout: round(requests / numbers.length, 2),
  };
}

function endedOf(app: App): string {
  return `${completed('payout')} AND PayoutApp = '${app}'`;
}

async function deliveredBy({ client }: BenchStage): Promise<number> {
  const state = await new Events({ client, environment: 'test' }).endpoint({
    app: 'healthy',
    endpoint: 'shop',
  });
  return state.delivered;
}

/** The history events of all runs of a delivery. */
async function historyOf({ client }: BenchStage, app: App): Promise<number> {
  let length = 0;
  const query = `WorkflowType = 'eventDelivery' AND PayoutApp = '${app}'`;
  for await (const { workflowId, runId } of client.workflow.list({ query }))
    length += (await client.workflow.getHandle(workflowId, runId).describe()).historyLength;
  return length;
}

/** The worker's requests to Temporal so far, without long polls. */
async function requestsAt(url: string): Promise<number> {
  const text = await (await request(url)).body.text();
  return [...text.matchAll(/^temporal_request(?:_total)?\{[^}]*\} ([\d.e+]+)$/gm)].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
}

function mean(runs: readonly Run[]): Run {
  const of = (name: keyof Run) => round(runs.reduce((sum, run) => sum + run[name], 0) / runs.length, 2);
  return {
    timeP50: of('timeP50'),
    timeP99: of('timeP99'),
    eventsPerPayout: of('eventsPerPayout'),
    requestsPerPayout: of('requestsPerPayout'),
  };
}
