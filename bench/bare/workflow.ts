/** The steps from the minimal cost of four calls on Temporal to what every payout needs. */
import {
  condition,
  defineSignal,
  proxyActivities,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { BareActivities } from './activities.ts';

const here = proxyActivities<BareActivities>({ startToCloseTimeout: '10s' });

/** No input, no decisions, no waiting. */
export async function bareFour(): Promise<void> {
  await here.nothing();
  await here.nothing();
  await here.nothing();
  await here.nothing();
}

/** A rate limit across processes requires this: a separate queue, served by the lease owner only, by priority. */
export async function bareQueued(): Promise<void> {
  const { nothing } = queued();
  await nothing();
  await nothing();
  await nothing();
  await nothing();
}

/** Notifications and operators require this: a wait for a signal with a timer, and two updates of a search attribute. */
export async function bareWaiting(): Promise<void> {
  let told = false;
  setHandler(defineSignal('go'), () => {
    told = true;
  });
  const { nothing, nothingThenSignal } = queued();
  await nothing();
  await nothingThenSignal();
  upsertSearchAttributes({ PayoutPhase: ['PROCESSING'] });
  await condition(() => told, '1h');
  await nothing();
  await nothing();
  upsertSearchAttributes({ PayoutPhase: ['DONE'] });
}

function queued() {
  return proxyActivities<BareActivities>({
    taskQueue: 'bare-calls',
    startToCloseTimeout: '10s',
    heartbeatTimeout: '8s',
    priority: { priorityKey: 3, fairnessKey: 'client' },
  });
}
