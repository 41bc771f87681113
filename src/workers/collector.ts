/**
 * The gauges of one application, from its lease owner: one process at a time, so that the work does not grow with the
 * number of workers. In every other process they are 0, so the sum over all workers is the value.
 */
import type { Client } from '@temporalio/client';
import type { MetricMeter } from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { ATTENTION } from '../contract/attention-codes.ts';
import { PHASES } from '../contract/codes.ts';
import { apiTaskQueue } from '../contract/ids.ts';
import { type AppGauge, count, setGauge } from '../domain/telemetry.ts';
import { type Clock, type Pace, repeat, sleep } from '../runtime/runtime.ts';
import { lastReconciliationRun } from '../temporal/failing-workflows.ts';
import { countRuns } from '../temporal/visibility.ts';
import type { RateLimiter } from './rate-limit/limiter.ts';
import type { TokenCache } from './tokens/token-cache.ts';

const { TASK_QUEUE_TYPE_ACTIVITY } = proto.temporal.api.enums.v1.TaskQueueType;

/** Of the gauges that need no request. */
const OWN_EVERY_MS = 5_000;
/** Between two rounds of requests. */
const ROUND_EVERY_MS = 30_000;
/** While the application makes no calls. */
const IDLE_ROUND_EVERY_MS = 120_000;
const OPEN_PHASES = PHASES.filter((phase) => phase !== 'DONE');
const CODES = [...new Set(Object.values(ATTENTION).flatMap((table) => Object.keys(table)))];

/** What all applications of a process share. */
export interface Collection {
  client: Client;
  environment: string;
  meter: MetricMeter;
  clock: Clock;
  /** Of its requests. */
  pace: Pace;
}

interface Collected {
  app: string;
  limiter: Pick<RateLimiter, 'callsPerSecond' | 'isPaused' | 'unreachedMs' | 'unusedMs'>;
  tokens: Pick<TokenCache, 'ageMs'>;
}

interface Counts {
  phases: ReadonlyMap<string, number>;
  codes: ReadonlyMap<string, number>;
  calls: { waiting: number; oldestMs: number };
  lagMs: number;
}

const NONE: Counts = { phases: new Map(), codes: new Map(), calls: { waiting: 0, oldestMs: 0 }, lagMs: 0 };

/** Call `begin` when the process becomes the lease owner, and `end` when it no longer is. */
export function collectorOf(collection: Collection, { app, limiter, tokens }: Collected) {
  const { clock, meter } = collection;
  const startedMs = clock.wallMs();
  /** Codes that were counted above 0, whose gauge has to return to 0. */
  const raised = new Set<string>();
  let stop: () => void = () => undefined;

  const set = (name: AppGauge, value: number) => setGauge(meter, name, { app }, value);
  const setOwn = (isOwner: boolean) => {
    const own = (value: number) => (isOwner ? value : 0);
    set('payouts_lease_owner', own(1));
    set('payouts_paused', own(limiter.isPaused ? 1 : 0));
    set('payouts_rate_limit_calls_per_second', own(limiter.callsPerSecond));
    set('payouts_provider_unreached_seconds', own(limiter.unreachedMs / 1_000));
    set('payouts_token_age_seconds', own((tokens.ageMs ?? 0) / 1_000));
  };
  const setCounts = ({ phases, codes, calls, lagMs }: Counts) => {
    for (const phase of OPEN_PHASES) setGauge(meter, 'payouts_open', { app, phase }, phases.get(phase) ?? 0);
    for (const [code, flagged] of codes) if (flagged > 0) raised.add(code);
    for (const code of raised) setGauge(meter, 'payouts_attention', { app, code }, codes.get(code) ?? 0);
    set('payouts_calls_waiting', calls.waiting);
    set('payouts_oldest_call_seconds', calls.oldestMs / 1_000);
    set('payouts_reconciliation_lag_seconds', lagMs / 1_000);
  };
  const rounds = async (ended: AbortSignal) => {
    for (;;) {
      try {
        const counts = await countsOf(collection, app, startedMs);
        if (ended.aborted) return;
        setCounts(counts);
      } catch {
        // Temporal does not respond, or not to this request. The next round tries again.
        count(meter, 'payouts_collector_failures', { app });
      }
      const isIdle = limiter.unusedMs > ROUND_EVERY_MS;
      await sleep(clock, isIdle ? IDLE_ROUND_EVERY_MS : ROUND_EVERY_MS, ended);
    }
  };

  setOwn(false);
  return {
    begin(): void {
      const ended = new AbortController();
      setOwn(true);
      const stopOwn = repeat(clock, OWN_EVERY_MS, () => setOwn(true));
      stop = () => {
        ended.abort();
        stopOwn();
      };
      // Ends by its signal.
      rounds(ended.signal).catch(() => undefined);
    },
    end(): void {
      stop();
      setOwn(false);
      setCounts(NONE);
    },
  };
}

async function countsOf(collection: Collection, app: string, startedMs: number): Promise<Counts> {
  const { client, environment, clock, pace } = collection;
  const countOpen = async (query: string) => {
    await pace.turn();
    const open = `PayoutApp = '${app}' AND ExecutionStatus = 'Running'`;
    return countRuns(client, `${open} AND ${query}`);
  };
  const countEach = async (values: readonly string[], queryOf: (value: string) => string) => {
    const counted = new Map<string, number>();
    for (const value of values) counted.set(value, await countOpen(queryOf(value)));
    return counted;
  };
  const isAnyOpen = (await countOpen(`WorkflowType = 'payout'`)) > 0;
  const phases = await countEach(
    isAnyOpen ? OPEN_PHASES : [],
    (phase) => `WorkflowType = 'payout' AND PayoutPhase = '${phase}'`,
  );
  const isAnyFlagged = (await countOpen('PayoutNeedsAttention = true')) > 0;
  const codes = await countEach(isAnyFlagged ? CODES : [], (code) => `PayoutReasons = '${code}'`);
  await pace.turn();
  const { stats } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: apiTaskQueue(environment, app) },
    taskQueueType: TASK_QUEUE_TYPE_ACTIVITY,
    reportStats: true,
  });
  const age = stats?.approximateBacklogAge;
  const calls = { waiting: Number(stats?.approximateBacklogCount ?? 0), oldestMs: age ? tsToMs(age) : 0 };
  await pace.turn();
  const reconciled = await lastReconciliationRun(client, environment);
  return { phases, codes, calls, lagMs: Math.max(0, clock.wallMs() - (reconciled?.closedMs ?? startedMs)) };
}
