/**
 * Part 7: many payouts wait on one worker. How much memory does it use, and how soon has another process resumed all of them? A
 * payout counts as resumed once the new process has replayed its history: it has answered the query `state`.
 */

import { endProcess } from '../../scripts/child-process.ts';
import { round } from '../measures.ts';
import { benchRequests, patienceMs, startMany, untilOpen } from '../pay.ts';
import { pidOf, rssMiB } from '../process-use.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { eachOf, type Say, TimedOut } from '../waits.ts';
import { STAYS_OPEN, UNLIMITED } from './settings.ts';

/** No polls, because only waiting is measured. */
const NO_POLLS = { PAYOUTS_POLL_FIRST: '6h', PAYOUTS_POLL_MAX: '6h' };
const ASKED_AT_ONCE = 50;
/** A lower bound for a 2-core machine. */
const SLOWEST_PER_SECOND = 10;

export async function waiting(payouts: number, say: Say) {
  const settings = { payouts, workers: 1, notified: false, polls: 'none', askedAtOnce: ASKED_AT_ONCE };
  const env = { ...UNLIMITED.env, ...NO_POLLS };
  return withStage({ ...UNLIMITED, workers: 1, env, notified: false }, async (stage) => {
    const [worker] = stage.workers;
    if (!worker) throw new Error('no worker');
    const requests = benchRequests(payouts, 'default', STAYS_OPEN);
    const starting = startMany(stage, requests);
    await Promise.all([starting, untilOpen(stage, payouts, patienceMs(payouts, SLOWEST_PER_SECOND), say)]);
    const workerRss = round(rssMiB(pidOf(worker)), 0);
    say(`the worker holds ${workerRss} MiB; it is killed, and another one is started`);
    await endProcess(worker, 'SIGKILL');
    const begunMs = performance.now();
    const successor = await stage.startWorker();
    const resumeWorkerReady = round(performance.now() - begunMs, 0);
    const numbers = requests.map(({ partnerOrderId }) => partnerOrderId);
    await eachOf(numbers, ASKED_AT_ONCE, (number) => answers(stage, number));
    return {
      settings,
      openPayouts: payouts,
      workerRss,
      workerRssAfterResume: round(rssMiB(pidOf(successor)), 0),
      resumeAll: round(performance.now() - begunMs, 0),
      resumeWorkerReady,
    };
  });
}

/** A query that still goes to the old worker's sticky queue, or waits too long, is repeated. */
async function answers({ payouts }: BenchStage, partnerOrderId: string): Promise<void> {
  for (let left = 20; left > 0; left -= 1) {
    const state = await payouts.state({ partnerOrderId }).catch(() => undefined);
    if (state?.phase === 'PROCESSING') return;
  }
  throw new TimedOut(`no answer from ${partnerOrderId}`);
}
