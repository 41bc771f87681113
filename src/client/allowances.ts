/**
 * Reserves payouts within the daily limits of a caller. One workflow per caller counts, so the limits hold over all API
 * servers and workers. Connects to Temporal only.
 */
import { createHash } from 'node:crypto';
import { type Client, WithStartWorkflowOperation, WorkflowUpdateFailedError } from '@temporalio/client';
import { z } from 'zod';
import { DAILY_LIMIT_EXCEEDED } from '../contract/failures.ts';
import { allowanceWorkflowId, PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import { toMinorUnits } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import {
  type AllowanceState,
  allowanceQuery,
  type DailyLimits,
  type Reservation,
  type ReservedPayouts,
  type ReserveResult,
  reserveUpdate,
  type WorkflowSignatures,
} from '../contract/workflows.ts';
import { PAYOUT_KEY_LENGTH } from '../domain/daily-limits.ts';
import { type Clock, sleep } from '../runtime/runtime.ts';
import { applicationFailure, isOfEndedRun } from '../temporal/client-errors.ts';
import { inSlices } from './checked-batch.ts';
import { requireEnvironment } from './errors.ts';
import { retryDroppedUpdate } from './steering.ts';

/** Thrown if payouts exceed a daily limit. None of them was reserved. */
export class DailyLimitError extends Error {
  override readonly name = 'DailyLimitError';
  /** The time to the next day. Undefined if the payouts alone exceed the limit. */
  readonly retryAfterMs: number | undefined;

  /** `message` follows the name of who is refused, such as `this key`. */
  constructor(message: string, retryAfterMs: number | undefined) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** For an update that Temporal and a worker respond to. */
const TIMEOUT_MS = 10_000;
const ENDED_RUN_TRIES = 5;
const ENDED_RUN_PAUSE_MS = 100;
/** Limits the reservations in one update: Temporal accepts 2 MB per payload, which one reservation may need. */
const MAX_CHARACTERS = 500_000;

type Refusals = ReserveResult['refusals'];

interface Waiting {
  reservation: Reservation;
  characters: number;
  resolve(refusal: Refusals[number]): void;
  reject(error: unknown): void;
}

/**
 * Temporal accepts ten updates of a workflow at a time, and fails its workflow tasks beyond that. So a process sends one
 * at a time for a caller, with all reservations that have come meanwhile.
 */
export class Allowances {
  private readonly client: Client;
  private readonly environment: string | undefined;
  private readonly clock: Clock;
  /** By caller. An entry exists while an update is under way. */
  private readonly queues = new Map<string, Waiting[]>();

  constructor(client: Client, environment: string | undefined, clock: Clock) {
    this.client = client;
    this.environment = environment;
    this.clock = clock;
  }

  /**
   * Reserves all payouts or none, each once per day: a repeated call is safe. Needs a worker. Throws `DailyLimitError`, and
   * errors of Temporal's client, after which it is unknown whether they are reserved.
   */
  async reserve(
    caller: string,
    { dailyAmount, dailyCount }: DailyLimits,
    requests: readonly CheckedPayoutRequest[],
  ): Promise<void> {
    const payouts = await reservedPayouts(requests);
    const reservation = { limits: { dailyAmount, dailyCount }, payouts };
    const characters = payouts.reduce(
      (sum, { keys, hundredths }) => sum + keys.length + hundredths.length,
      0,
    );
    const refusal = await new Promise<Refusals[number]>((resolve, reject) => {
      const waiting = { reservation, characters, resolve, reject };
      const queue = this.queues.get(caller);
      if (queue) queue.push(waiting);
      else void this.sendAll(caller, [waiting]);
    });
    if (refusal) throw new DailyLimitError(refusal.message, refusal.retryAfterMs);
  }

  /** What the caller has reserved. Throws Temporal's `WorkflowNotFoundError` if its workflow no longer exists. */
  state(caller: string): Promise<AllowanceState> {
    const workflowId = allowanceWorkflowId(requireEnvironment(this.environment), caller);
    return this.client.workflow.getHandle(workflowId).query(allowanceQuery);
  }

  /** Sends what waits until nothing waits. After an error, which Temporal's client has retried, fails what waits, too. */
  private async sendAll(caller: string, queue: Waiting[]): Promise<void> {
    this.queues.set(caller, queue);
    let sent: Waiting[] = [];
    try {
      while (queue.length > 0) {
        sent = queue.splice(0, fitting(queue));
        const reservations = sent.map(({ reservation }) => reservation);
        const refusals = await this.send(caller, reservations);
        for (const [at, { resolve }] of sent.entries()) resolve(refusals[at] ?? null);
        sent = [];
      }
    } catch (error) {
      for (const { reject } of [...sent, ...queue]) reject(error);
    } finally {
      this.queues.delete(caller);
    }
  }

  private async send(caller: string, reservations: readonly Reservation[]): Promise<Refusals> {
    try {
      const { refusals } = await this.client.withDeadline(this.clock.wallMs() + TIMEOUT_MS, () =>
        this.retryEndedRun(() =>
          retryDroppedUpdate(() =>
            this.client.workflow.executeUpdateWithStart(reserveUpdate, {
              args: [{ reservations }],
              startWorkflowOperation: this.start(caller),
            }),
          ),
        ),
      );
      return refusals;
    } catch (error) {
      const refusals = refusalsIn(error);
      if (!refusals) throw error;
      return refusals;
    }
  }

  private start(caller: string) {
    const environment = requireEnvironment(this.environment);
    return new WithStartWorkflowOperation<WorkflowSignatures['callerAllowance']>('callerAllowance', {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: allowanceWorkflowId(environment, caller),
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [{ environment, caller }],
      staticSummary: `daily limits of ${caller}`,
    });
  }

  /** The run may end, or continue as new, between the start and the update. */
  private async retryEndedRun<T>(send: () => Promise<T>): Promise<T> {
    for (let left = ENDED_RUN_TRIES; ; left -= 1) {
      try {
        return await send();
      } catch (error) {
        if (left === 0 || !isOfEndedRun(error)) throw error;
      }
      await sleep(this.clock, ENDED_RUN_PAUSE_MS);
    }
  }
}

/** How many of the waiting reservations one update takes: at least one. */
function fitting(queue: readonly Waiting[]): number {
  let characters = 0;
  const beyond = queue.findIndex((waiting, at) => {
    characters += waiting.characters;
    return at > 0 && characters > MAX_CHARACTERS;
  });
  return beyond === -1 ? queue.length : beyond;
}

const refusal = z.object({ message: z.string(), retryAfterMs: z.number().exactOptional() });
const refused = z.tuple([z.object({ refusals: z.array(refusal.nullable()) })]);

function refusalsIn(error: unknown): Refusals | undefined {
  const failure = error instanceof WorkflowUpdateFailedError ? applicationFailure(error.cause) : undefined;
  return failure?.type === DAILY_LIMIT_EXCEEDED ? refused.parse(failure.details)[0].refusals : undefined;
}

/** By currency. Hashes in slices, so that the process does other work meanwhile. */
async function reservedPayouts(requests: readonly CheckedPayoutRequest[]): Promise<ReservedPayouts[]> {
  const found = new Map<string, { keys: string[]; hundredths: bigint[] }>();
  for await (const request of inSlices(requests)) {
    const { currency, amount } = request.instructedAmount;
    const { keys, hundredths } = found.get(currency) ?? { keys: [], hundredths: [] };
    keys.push(keyOf(request));
    hundredths.push(toMinorUnits(amount));
    found.set(currency, { keys, hundredths });
  }
  return Array.from(found, ([currency, { keys, hundredths }]) => ({
    currency,
    keys: keys.join(''),
    hundredths: hundredths.join(','),
  }));
}

/** Includes the amount: under the same id, another amount is another reservation. */
function keyOf({ app, partnerOrderId, instructedAmount }: CheckedPayoutRequest): string {
  const { currency, amount } = instructedAmount;
  const identity = JSON.stringify([app, partnerOrderId, currency, amount]);
  return createHash('sha256').update(identity).digest('base64').slice(0, PAYOUT_KEY_LENGTH);
}
