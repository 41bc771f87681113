/**
 * The gauges of one application, from its lease owner: one process at a time, so that the work does not grow with the
 * number of workers. In every other process they are 0, so the sum over all workers is the value.
 */
import type { Client } from '@temporalio/client';
import type { MetricMeter } from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import {
  ENDPOINT_ATTENTION,
  FOLLOW_UP_ATTENTION,
  PAYOUT_ATTENTION,
  RECEIVING_ACCOUNT_ATTENTION,
  TOKEN_ATTENTION,
  WORKFLOW_ATTENTION,
} from '../contract/attention-codes.ts';
import { PHASES } from '../contract/codes.ts';
import { apiTaskQueue, reconciliationId } from '../contract/ids.ts';
import { type AppGauge, count, setGauge } from '../domain/telemetry.ts';
import { type Clock, type Pace, repeat, sleep } from '../runtime/runtime.ts';
import { listRunPage } from '../temporal/visibility.ts';
import type { RateLimiter } from './rate-limit/limiter.ts';
import type { TokenCache } from './tokens/token-cache.ts';

const { TASK_QUEUE_TYPE_ACTIVITY } = proto.temporal.api.enums.v1.TaskQueueType;

/** Of the gauges that need no request. */
const OWN_EVERY_MS = 5_000;
/** Between two rounds of requests. */
const ROUND_EVERY_MS = 30_000;
const OPEN_PHASES = PHASES.filter((phase) => phase !== 'DONE');
const CODES = [
  ...new Set(
    [
      PAYOUT_ATTENTION,
      RECEIVING_ACCOUNT_ATTENTION,
      TOKEN_ATTENTION,
      FOLLOW_UP_ATTENTION,
      WORKFLOW_ATTENTION,
      ENDPOINT_ATTENTION,
    ].flatMap((table) => Object.keys(table)),
  ),
];

/** What all applications of a process share. */
export interface Collection {
  client: Client;
  environment: string;
  meter: MetricMeter;
  clock: Clock;
  /** Of its requests. */
  pace: Pace;
}

export interface Collected {
  app: string;
  limiter: Pick<RateLimiter, 'callsPerSecond' | 'isPaused' | 'unreachedMs'>;
  tokens: Pick<TokenCache, 'ageMs'>;
}

export interface Collector {
  /** The process became the lease owner. */
  begin(): void;
  end(): void;
}

export function collectorOf(collection: Collection, collected: Collected): Collector {
  return new AppCollector(collection, collected);
}

class AppCollector implements Collector {
  private readonly parts: Collection;
  private readonly collected: Collected;
  private readonly labels: { app: string };
  private readonly startedMs: number;
  /** Codes that were counted above 0, whose gauge has to return to 0. */
  private readonly raised = new Set<string>();
  private stop: (() => void) | undefined;

  constructor(parts: Collection, collected: Collected) {
    this.parts = parts;
    this.collected = collected;
    this.labels = { app: collected.app };
    this.startedMs = parts.clock.wallMs();
    this.setOwn(false);
  }

  begin(): void {
    const { clock } = this.parts;
    const ended = new AbortController();
    this.setOwn(true);
    const stopOwn = repeat(clock, OWN_EVERY_MS, () => this.setOwn(true));
    this.stop = () => {
      ended.abort();
      stopOwn();
    };
    // Ends by its signal.
    this.rounds(ended.signal).catch(() => undefined);
  }

  end(): void {
    this.stop?.();
    this.stop = undefined;
    this.setOwn(false);
    this.setCounts({ phases: new Map(), codes: new Map(), calls: { waiting: 0, oldestMs: 0 }, lagMs: 0 });
  }

  private setOwn(isOwner: boolean): void {
    const { limiter, tokens } = this.collected;
    const own = (value: number) => (isOwner ? value : 0);
    this.set('payouts_lease_owner', own(1));
    this.set('payouts_paused', own(limiter.isPaused ? 1 : 0));
    this.set('payouts_rate_limit_calls_per_second', own(limiter.callsPerSecond));
    this.set('payouts_provider_unreached_seconds', own(limiter.unreachedMs / 1_000));
    this.set('payouts_token_age_seconds', own((tokens.ageMs ?? 0) / 1_000));
  }

  private async rounds(ended: AbortSignal): Promise<void> {
    for (;;) {
      try {
        const counts = await this.counts();
        if (ended.aborted) return;
        this.setCounts(counts);
      } catch {
        // Temporal does not answer, or not to this question. The next round tries again.
        count(this.parts.meter, 'payouts_collector_failures', this.labels);
      }
      await sleep(this.parts.clock, ROUND_EVERY_MS, ended);
    }
  }

  private async counts(): Promise<Counts> {
    return {
      phases: await this.countEach(
        OPEN_PHASES,
        (phase) => `WorkflowType = 'payout' AND PayoutPhase = '${phase}'`,
      ),
      codes: (await this.count('PayoutNeedsAttention = true'))
        ? await this.countEach(CODES, (code) => `PayoutReasons = '${code}'`)
        : new Map(),
      calls: await this.waitingCalls(),
      lagMs: await this.reconciliationLagMs(),
    };
  }

  private async countEach(
    values: readonly string[],
    queryOf: (value: string) => string,
  ): Promise<Map<string, number>> {
    const counted = new Map<string, number>();
    for (const value of values) counted.set(value, await this.count(queryOf(value)));
    return counted;
  }

  private async count(query: string): Promise<number> {
    const { client, pace } = this.parts;
    await pace.turn();
    const open = `PayoutApp = '${this.collected.app}' AND ExecutionStatus = 'Running'`;
    return (await client.workflow.count(`${open} AND ${query}`)).count;
  }

  private async waitingCalls(): Promise<Counts['calls']> {
    const { client, environment, pace } = this.parts;
    await pace.turn();
    const { stats } = await client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: apiTaskQueue(environment, this.collected.app) },
      taskQueueType: TASK_QUEUE_TYPE_ACTIVITY,
      reportStats: true,
    });
    const age = stats?.approximateBacklogAge;
    return { waiting: Number(stats?.approximateBacklogCount ?? 0), oldestMs: age ? tsToMs(age) : 0 };
  }

  private async reconciliationLagMs(): Promise<number> {
    const { client, clock, environment, pace } = this.parts;
    await pace.turn();
    const completed = `WorkflowType = 'payoutReconciliation' AND ExecutionStatus = 'Completed'`;
    // The list starts with the run that closed last.
    const { runs } = await listRunPage(
      client,
      `${completed} AND WorkflowId STARTS_WITH '${reconciliationId(environment)}'`,
      1,
    );
    return Math.max(0, clock.wallMs() - (runs[0]?.closedMs ?? this.startedMs));
  }

  private setCounts({ phases, codes, calls, lagMs }: Counts): void {
    const { meter } = this.parts;
    for (const phase of OPEN_PHASES)
      setGauge(meter, 'payouts_open', { ...this.labels, phase }, phases.get(phase) ?? 0);
    for (const [code, flagged] of codes) if (flagged > 0) this.raised.add(code);
    for (const code of this.raised)
      setGauge(meter, 'payouts_attention', { ...this.labels, code }, codes.get(code) ?? 0);
    this.set('payouts_calls_waiting', calls.waiting);
    this.set('payouts_oldest_call_seconds', calls.oldestMs / 1_000);
    this.set('payouts_reconciliation_lag_seconds', lagMs / 1_000);
  }

  private set(name: AppGauge, value: number): void {
    setGauge(this.parts.meter, name, this.labels, value);
  }
}

interface Counts {
  phases: ReadonlyMap<string, number>;
  codes: ReadonlyMap<string, number>;
  calls: { waiting: number; oldestMs: number };
  lagMs: number;
}
