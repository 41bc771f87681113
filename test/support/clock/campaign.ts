/**
 * Payouts, a batch, follow-ups and a token renewal, while worker processes are killed in turn and every open workflow is
 * queried twice a second. Afterwards every history is read.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import type { Environment } from '../../../src/config/environment.ts';
import type { PayoutRequest } from '../../../src/contract/payout-request.ts';
import { PROCESS_RUNTIME } from '../../../src/runtime/process.ts';
import { isStaleClock } from '../../../src/temporal/client-errors.ts';
import { clientInterceptors } from '../../../src/temporal/queries.ts';
import { batchesOf, manyRows } from '../batches.ts';
import { eventually } from '../eventually.ts';
import { replays } from '../histories.ts';
import { debitsOf } from '../ledger.ts';
import { PayoutWorld } from '../payout-world.ts';
import { type OwnProcess, startProgram } from '../processes.ts';
import { newPartnerOrderId } from '../test-world.ts';

export interface CampaignOptions {
  codePath: string;
  killForMs: number;
  payouts: number;
}

export interface CampaignReport {
  kills: number;
  queries: number;
  /** Queries that came ahead of a workflow task, and were sent again. */
  refused: number;
  /** Queries that failed in this way in spite of the retries. */
  givenUp: number;
  workflows: Record<string, number>;
  /** Failed workflow tasks by cause, except those whose completion met a new history event. */
  failedTasks: Record<string, number>;
  notReplaying: string[];
  /** Payouts, rows of the batch included, by outcome. */
  outcomes: Record<string, number>;
  wronglyPaid: string[];
}

const WORKERS = 2;
const KILL_EVERY_MS = 9_000;
/** However long a worker takes to start. */
const MIN_KILLS = 3;
const QUERY_EVERY_MS = 500;
const ANSWERS_WITHIN_MS = 3_000;
const LOOK_EVERY_MS = 1_000;
const ROWS = 8;
/** The time that payouts have to end after the kills and queries. */
const ENDS_WITHIN_MS = 240_000;
/** Temporal's code: a history event arrived during the task, so the task runs again. */
const UNHANDLED_COMMAND = 1;

const ENVIRONMENT: Environment = {
  PAYMENTS_REPEATED_CREATE: 'safe',
  PAYOUTS_POLL_FIRST: '1s',
  PAYOUTS_POLL_MAX: '3s',
  PAYOUTS_RECONCILE_EVERY: '3s',
  PAYOUTS_FOLLOW_UP: '3s,6s,9s,12s',
};

export async function campaign({ codePath, killForMs, payouts }: CampaignOptions): Promise<CampaignReport> {
  const world = await PayoutWorld.start({
    idle: true,
    env: { ...ENVIRONMENT, PAYOUTS_WORKFLOW_BUNDLE: codePath },
    settings: { applicationTokenSeconds: 60 },
  });
  const troop = new KilledWorkers(world);
  try {
    await troop.start();
    const questions = new QueryLoop(world);
    const requests = manyRows(payouts, 'success final=10s');
    const rows = manyRows(ROWS, 'success final=5s');
    const asking = questions.ask();
    await Promise.all([
      troop.strike(killForMs),
      startOverTime(world, requests, killForMs / 2),
      batchesOf(world).start({ batchId: newPartnerOrderId(), payouts: rows }),
    ]);
    questions.stop();
    await asking;
    const all = [...requests, ...rows];
    const ended = await Promise.all(all.map((request) => endOf(world, request)));
    await eventually(async () => (await countOfType(world, 'payoutFollowUp')) > 0 || undefined);
    return {
      kills: troop.kills,
      ...questions.counts,
      ...(await readAll(world, codePath)),
      outcomes: countOf(ended),
      wronglyPaid: all.filter((request) => debitsOf(world, request) !== 1).map((one) => one.partnerOrderId),
    };
  } finally {
    await troop.stop();
    await world.stop();
  }
}

/** Worker processes, one of which is killed periodically. */
class KilledWorkers {
  kills = 0;
  private readonly world: PayoutWorld;
  private readonly workers: OwnProcess[] = [];

  constructor(world: PayoutWorld) {
    this.world = world;
  }

  async start(): Promise<void> {
    await Promise.all(Array.from({ length: WORKERS }, () => this.another()));
  }

  async strike(forMs: number): Promise<void> {
    const untilMs = performance.now() + forMs;
    while (performance.now() < untilMs || this.kills < MIN_KILLS) {
      const [worker] = this.workers.splice(0, 1);
      await Promise.all([worker?.stop('SIGKILL').then(() => this.another()), sleep(KILL_EVERY_MS)]);
      this.kills += 1;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop('SIGKILL')));
  }

  private async another(): Promise<void> {
    const { workerEnvironment } = this.world;
    this.workers.push(await startProgram('src/workers/main.ts', workerEnvironment, /worker ready/));
  }
}

/** Queries every open workflow of any type, with a query that all of them answer. */
class QueryLoop {
  readonly counts = { queries: 0, refused: 0, givenUp: 0 };
  private readonly client: Client;
  private readonly asked = new Set<string>();
  private stopped = false;

  constructor(world: PayoutWorld) {
    const counting: WorkflowClientInterceptor = {
      query: async (input, next) => {
        this.counts.queries += 1;
        return next(input).catch((error: unknown) => {
          if (isStaleClock(error)) this.counts.refused += 1;
          throw error;
        });
      },
    };
    const { workflow } = clientInterceptors(PROCESS_RUNTIME.clock);
    const again = Array.isArray(workflow) ? workflow : [];
    this.client = new Client({
      connection: world.client.connection,
      namespace: world.namespace,
      interceptors: { workflow: [...again, counting] },
    });
  }

  stop(): void {
    this.stopped = true;
  }

  async ask(): Promise<void> {
    const all: Promise<void>[] = [];
    while (!this.stopped) {
      const open = this.client.workflow.list({ query: "ExecutionStatus = 'Running'" });
      for await (const { workflowId } of open)
        if (!this.asked.has(workflowId)) {
          this.asked.add(workflowId);
          all.push(this.askOne(workflowId));
        }
      await sleep(LOOK_EVERY_MS);
    }
    await Promise.all(all);
  }

  private async askOne(workflowId: string): Promise<void> {
    const handle = this.client.workflow.getHandle(workflowId);
    const ask = () => handle.query('__temporal_workflow_metadata');
    while (!this.stopped) {
      await this.client.withDeadline(Date.now() + ANSWERS_WITHIN_MS, ask).catch((error: unknown) => {
        if (isStaleClock(error)) this.counts.givenUp += 1;
      });
      await sleep(QUERY_EVERY_MS);
    }
  }
}

async function startOverTime(
  world: PayoutWorld,
  requests: readonly PayoutRequest[],
  overMs: number,
): Promise<void> {
  for (const request of requests) {
    await world.payouts.start(request);
    await sleep(overMs / requests.length);
  }
}

async function endOf(world: PayoutWorld, request: PayoutRequest): Promise<string> {
  const late = sleep(ENDS_WITHIN_MS, 'has not ended');
  return Promise.race([world.payouts.result(request).then(({ outcome }) => outcome), late]);
}

async function readAll(world: PayoutWorld, codePath: string) {
  const workflows: string[] = [];
  const failedTasks: string[] = [];
  const notReplaying: string[] = [];
  for await (const { workflowId, runId, type } of world.client.workflow.list()) {
    workflows.push(type);
    const history = await world.client.workflow.getHandle(workflowId, runId).fetchHistory();
    failedTasks.push(...failuresIn(history).map((cause) => `${type}: ${cause}`));
    await replays(history, codePath).catch((error: unknown) => {
      const types = history.events?.map(({ eventType }) => eventType).join(' ');
      notReplaying.push(`${workflowId}: ${error} [event types: ${types}]`);
    });
  }
  return { workflows: countOf(workflows), failedTasks: countOf(failedTasks), notReplaying };
}

function failuresIn({ events }: History): string[] {
  return (events ?? []).flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed && failed.cause !== UNHANDLED_COMMAND
      ? [`${failed.cause} ${failed.failure?.message ?? ''}`.slice(0, 80)]
      : [],
  );
}

async function countOfType(world: PayoutWorld, type: string): Promise<number> {
  return (await world.client.workflow.count(`WorkflowType = '${type}'`)).count;
}

function countOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
