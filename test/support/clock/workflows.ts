/** Workflows whose commands depend on their clock, so that a wrong clock shows in the history. */
import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { RunHistory } from '../../../src/workflows/shared/run-facts.ts';

type Quick = { quick(): Promise<string> };
type Slow = { slow(): Promise<void> };

export const elapsedQuery = defineQuery<number>('elapsed');
export const goSignal = defineSignal('go');
export const goUpdate = defineUpdate<number>('go-update');

export const measuresQuery = defineQuery<Measure[]>('measures');

export interface Measure {
  historyLength: number;
  historySize: number;
  isLong: boolean;
}

export interface Waited {
  /** By the workflow's clock, when it continued. */
  elapsedMs: number;
}

/** Waits for an answer from outside. */
export async function waitsForActivity(): Promise<string> {
  setHandler(elapsedQuery, () => 0);
  return proxyActivities<Quick>({ taskQueue: 'elsewhere', startToCloseTimeout: '1m' }).quick();
}

/** Waits for `forMs`, or for the signal. Its next commands depend on how long that took. */
export async function waits(forMs: number, longMs: number): Promise<Waited> {
  const begunMs = Date.now();
  let told = false;
  setHandler(elapsedQuery, () => Date.now() - begunMs);
  setHandler(goSignal, () => {
    told = true;
  });
  await condition(() => told, forMs);
  const elapsedMs = Date.now() - begunMs;
  if (elapsedMs < longMs) upsertMemo({ early: true });
  await sleep(100);
  return { elapsedMs };
}

/** Its local activity completes while it answers a query. Its next commands depend on how long that took. */
export async function waitsForLocalActivity(longMs: number): Promise<Waited> {
  const begunMs = Date.now();
  setHandler(elapsedQuery, () => {
    const { unsafe } = workflowInfo();
    const untilMs = unsafe.now() + 2 * longMs;
    while (unsafe.now() < untilMs);
    return Date.now() - begunMs;
  });
  await proxyLocalActivities<Quick>({ startToCloseTimeout: '5s' }).quick();
  const elapsedMs = Date.now() - begunMs;
  if (elapsedMs < longMs) upsertMemo({ early: true });
  await sleep(100);
  return { elapsedMs };
}

/** Everything that completes within one workflow task, or comes from outside: none of it is rejected. */
export async function doesEverything(round = 0): Promise<number> {
  let updates = 0;
  let signals = 0;
  setHandler(goSignal, () => {
    signals += 1;
  });
  setHandler(
    goUpdate,
    async () => {
      updates += 1;
      await sleep(10);
      return updates;
    },
    {
      validator: () => {
        if (signals === 0) throw new Error('not yet');
      },
    },
  );
  for (const cancellationType of Object.values(ActivityCancellationType)) {
    await canceled(cancellationType, 0);
    await canceled(cancellationType, 50);
  }
  await condition(() => signals > 0 && updates > 0);
  await Promise.all([sleep(20), proxyActivities<Quick>({ startToCloseTimeout: '5s' }).quick()]);
  if (round === 0) await continueAsNew<typeof doesEverything>(1);
  return workflowInfo().historyLength;
}

/** An activity that is canceled `afterMs` after it was scheduled; 0: in the same workflow task. */
async function canceled(cancellationType: ActivityCancellationType, afterMs: number): Promise<void> {
  const { slow } = proxyActivities<Slow>({ startToCloseTimeout: '5s', cancellationType });
  const scope = new CancellationScope();
  const running = scope
    .run(() => slow())
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    });
  if (afterMs > 0) await sleep(afterMs);
  scope.cancel();
  await running;
}

/** Two measures of the history, at each signal. */
export async function measures(): Promise<void> {
  const history = new RunHistory();
  const seen: Measure[] = [];
  setHandler(measuresQuery, () => seen);
  setHandler(goSignal, () => {
    const { historyLength, historySize } = workflowInfo();
    seen.push({ historyLength, historySize, isLong: history.isLong });
  });
  await condition(() => false);
}
