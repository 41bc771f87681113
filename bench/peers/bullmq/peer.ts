/** BullMQ on Valkey: one job per provider call, on one queue with a rate limit. Each job adds the next one. */
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import type { Ended, Peer } from '../peer.ts';
import * as provider from '../provider.ts';
import { settings } from '../settings.ts';

interface Data {
  payout: provider.Payout;
  lock?: string;
  /** Counts the quotes. */
  round: number;
}

const QUEUE = 'calls';
const PRIORITY = { create: 1, detail: 2, order: 3, quote: 4 };
type Step = keyof typeof PRIORITY;

const connection = { url: settings.SERVER, maxRetriesPerRequest: null };
const queue = new Queue<Data, string, string>(QUEUE, { connection });

/** A job that exists already is not added again, so a repeated step adds nothing. */
async function add(step: Step, data: Data, delay = 0): Promise<void> {
  await queue.add(step, data, {
    jobId: `${data.payout.id}-${step}-${data.round}`,
    priority: PRIORITY[step],
    delay,
    attempts: 20,
    backoff: { type: 'exponential', delay: 1_000, jitter: 0.5 },
  });
}

async function work(job: Job<Data, string, string>, token = ''): Promise<string> {
  const { payout, lock = '', round } = job.data;
  if (job.name === 'quote') {
    await add('create', { payout, lock: await provider.quote(payout), round });
  } else if (job.name === 'create') {
    try {
      await (job.attemptsStarted > 1 ? provider.createOnce : provider.create)(payout, lock);
      await add('order', { payout, round }, settings.POLL_MS);
    } catch (error) {
      if (!(error instanceof provider.LockExpired)) throw error;
      await add('quote', { payout, round: round + 1 });
    }
  } else if (job.name === 'order') {
    if ((await provider.order(payout))?.end === undefined) {
      await job.moveToDelayed(Date.now() + settings.POLL_MS, token);
      throw new DelayedError();
    }
    await add('detail', { payout, round });
  } else {
    return provider.detail(payout);
  }
  return '';
}

/** Ends the wait of the payout's last round. */
async function notify(id: string): Promise<void> {
  for (let round = 0; ; round += 1) {
    const job = await queue.getJob(`${id}-order-${round}`);
    if (job === undefined && (await queue.getJob(`${id}-quote-${round + 1}`)) === undefined) return;
    // It may be active already.
    if ((await job?.getState()) === 'delayed') await job?.promote().catch(() => undefined);
    if (job !== undefined) return;
  }
}

async function ended(): Promise<Ended[]> {
  const [completed, failed] = await Promise.all([queue.getCompleted(), queue.getFailed()]);
  const last = completed.filter(({ name }) => name === 'detail');
  return [...last, ...failed].map(({ data, returnvalue, finishedOn = 0 }) => ({
    id: data.payout.id,
    outcome: returnvalue || 'ERROR',
    atMs: finishedOn,
  }));
}

export const bullmq: Peer = {
  async work() {
    const worker = new Worker(QUEUE, work, {
      connection,
      concurrency: 20,
      limiter: { max: settings.CALLS_PER_SECOND, duration: 1_000 },
      // The default of 30 s delays a job whose process was killed, and fails it the second time.
      lockDuration: 2 * settings.CALL_TIMEOUT_MS + 5_000,
      stalledInterval: 5_000,
      maxStalledCount: 20,
    });
    worker.on('error', (error) => console.error(error));
    await worker.waitUntilReady();
  },
  async front() {
    return { start: (payout) => add('quote', { payout, round: 0 }), notify, ended };
  },
};
