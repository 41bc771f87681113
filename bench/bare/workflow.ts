/** The rungs from the least that four calls could cost on Temporal to what every payout needs. */
import {
  condition,
  defineSignal,
  proxyActivities,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { BareActivities } from './activities.ts';

const here = proxyActivities<BareActivities>({ startToCloseTimeout: '10s' });

/** No input worth the name, no decisions, no waiting. */
export async function bareFour(): Promise<void> {
  await here.nothing();
  await here.nothing();
  await here.nothing();
  await here.nothing();
}

/** As a budget that all processes share demands it: a queue of its own, served by its owner alone, in order of urgency. */
export async function bareQueued(): Promise<void> {
  const { nothing } = queued();
  await nothing();
  await nothing();
  await nothing();
  await nothing();
}

/** As notifications and operators demand it: it waits for a signal under a timer, and says twice where it stands. */
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
    priority: { priorityKey: 3, fairnessKey: 'seller' },
  });
}
