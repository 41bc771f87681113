/** The job as a Temporal workflow: activities with retries, a signal, and a timer behind it. */
import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  defineSignal,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { Order, Payout } from '../provider.ts';

export interface Activities {
  quote(payout: Payout): Promise<string>;
  create(payout: Payout, lock: string): Promise<string>;
  order(payout: Payout): Promise<Order | undefined>;
  detail(payout: Payout): Promise<string>;
}

export const PROVIDER_QUEUE = 'provider';
export const notified = defineSignal('notified');

const calls = (priorityKey: number) =>
  proxyActivities<Activities>({
    taskQueue: PROVIDER_QUEUE,
    startToCloseTimeout: '15s',
    priority: { priorityKey },
    retry: { initialInterval: '1s', maximumInterval: '10s', nonRetryableErrorTypes: ['LockExpired'] },
  });
const [urgent, soon, later, last] = [calls(1), calls(2), calls(3), calls(4)];

export async function payout(request: Payout, pollMs: number): Promise<string> {
  let isNotified = false;
  setHandler(notified, () => {
    isNotified = true;
  });
  await createWithQuote(request);
  for (;;) {
    await condition(() => isNotified, pollMs);
    isNotified = false;
    if ((await later.order(request))?.end !== undefined) return soon.detail(request);
  }
}

async function createWithQuote(request: Payout): Promise<void> {
  for (;;) {
    try {
      await urgent.create(request, await last.quote(request));
      return;
    } catch (error) {
      if (!isLockExpired(error)) throw error;
    }
  }
}

function isLockExpired(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === 'LockExpired'
  );
}
