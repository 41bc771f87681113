/**
 * Part 9: one address opens thousands of connections, each with a request that never ends. What does that leave other addresses of
 * the API server, and in how much memory?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { load, type Measured } from '../load.ts';
import { percentile, round } from '../measures.ts';
import { pidOf, rssMiB } from '../process-use.ts';
import { type BenchStage, withStage } from '../stage.ts';
import { openMany, STALLED } from '../stalled.ts';
import type { Say } from '../waits.ts';

const CONNECTIONS = 10;
/** With its ramp, shorter than the ten seconds after which the API server closes a stalled connection. */
const SECONDS = 5;
const ATTACKER = '127.0.0.2';

interface Round {
  alone: Measured;
  stalled: Measured;
  held: number;
}

export async function connections(count: number, rounds: number, say: Say) {
  return withStage({ workers: 0, notified: false }, async (stage) => {
    const measured: Round[] = [];
    // The first warms up.
    for (let at = 0; at <= rounds; at += 1) {
      const one = await roundOf(stage, count);
      const { alone, stalled, held } = one;
      say(`${alone.perSecond}/s, ${stalled.perSecond}/s beside ${held} stalled connections`);
      if (at > 0) measured.push(one);
    }
    const median = (of: (one: Round) => number, digits: number) =>
      round(percentile(measured.map(of), 0.5), digits);
    return {
      settings: { opened: count, rounds, seconds: SECONDS, connections: CONNECTIONS },
      perSecond: median(({ alone }) => alone.perSecond, 0),
      perSecondStalled: median(({ stalled }) => stalled.perSecond, 0),
      ratio: median(({ alone, stalled }) => stalled.perSecond / alone.perSecond, 3),
      held: median(({ held }) => held, 0),
      rss: median(({ alone }) => alone.highest, 0),
      rssStalled: Math.max(...measured.map(({ stalled }) => stalled.highest)),
      failed: measured.reduce((sum, { alone, stalled }) => sum + alone.failed + stalled.failed, 0),
    };
  });
}

async function roundOf({ apiUrl, apiServer }: BenchStage, count: number): Promise<Round> {
  const run = () =>
    load({
      ...{ url: apiUrl, connections: CONNECTIONS, seconds: SECONDS },
      next: () => ({ method: 'GET', path: '/healthz', headers: {} }),
      sample: () => rssMiB(pidOf(apiServer)),
    });
  const alone = await run();
  const to = { host: '127.0.0.1', port: Number(new URL(apiUrl).port), localAddress: ATTACKER };
  const open = await openMany(to, count, STALLED);
  const stalled = await run();
  const held = open.size;
  for (const socket of open) socket.destroy();
  while (open.size > 0) await sleep(50);
  return { alone, stalled, held };
}
