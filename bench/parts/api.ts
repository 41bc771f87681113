/**
 * Part 8: load on the API server. How many requests per second does it serve, how fast, and in how much memory? And what does a
 * flood of junk leave of that?
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Request } from 'autocannon';
import { killWithParent, stopProcess } from '../../scripts/child-process.ts';
import { type Flooded, readFlooded } from '../flood.ts';
import { load, type Measured } from '../load.ts';
import { percentile, round } from '../measures.ts';
import { benchRequest, benchRequests, patienceMs, startMany, untilEnded } from '../pay.ts';
import { pidOf, rssMiB } from '../process-use.ts';
import { type BenchStage, withStage } from '../stage.ts';
import type { Say } from '../waits.ts';
import { UNLIMITED } from './settings.ts';

const CONNECTIONS = 10;
/** A lower bound for a 2-core machine. */
const SLOWEST_PER_SECOND = 10;
const WORKER_END_MS = 30_000;
const SUBJECTS = ['starts', 'reads', 'notifications'] as const;
type Subject = (typeof SUBJECTS)[number];

interface Size {
  /** Ended payouts, which are read in turn. */
  payouts: number;
  seconds: number;
  rounds: number;
}

interface Round {
  alone: Measured;
  flooded: Measured;
  junk: Flooded;
}

const newSecret = () => randomBytes(32).toString('base64url');

export async function api({ payouts, seconds, rounds }: Size, say: Say) {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-bench-api-'));
  const keys = { shop: newSecret(), junk: newSecret(), provider: newSecret() };
  const env = {
    ...UNLIMITED.env,
    PAYOUTS_API_KEYS_FILE: keysFile(folder, keys),
    PAYOUTS_AUDIT_LOG: join(folder, 'audit.log'),
    PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256',
    PAYMENTS_NOTIFICATION_SECRETS: keys.provider,
  };
  const settings = { payouts, seconds, rounds, connections: CONNECTIONS, workers: 0 };
  try {
    return await withStage({ ...UNLIMITED, workers: 1, env, notified: false }, async (stage) => {
      await startMany(stage, benchRequests(payouts, 'default', 'success'));
      await untilEnded(stage, payouts, patienceMs(payouts, SLOWEST_PER_SECOND), say);
      // The measured requests need no worker, and the payouts that they start would load the machine.
      await Promise.all(stage.workers.map((worker) => stopProcess(worker, WORKER_END_MS)));
      const idleRss = round(rssMiB(pidOf(stage.apiServer)), 0);
      const measured = await allRounds(stage, { payouts, seconds, rounds }, keys, say);
      return { settings, idleRss, ...figuresOf(measured) };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Keys = Record<'shop' | 'junk' | 'provider', string>;

/** The limit of the measured caller is out of reach. The other caller has the default limit. */
function keysFile(folder: string, keys: Keys): string {
  const file = join(folder, 'callers.json');
  const caller = (name: 'shop' | 'junk', more: object) => ({
    name,
    keySha256: [createHash('sha256').update(keys[name]).digest('hex')],
    applications: ['default'],
    largestAmount: { CNY: '100.00' },
    ...more,
  });
  const unlimited = { requestsPerSecond: 10_000 };
  const callers = [
    caller('shop', { verbs: ['start', 'read'], ...unlimited }),
    caller('junk', { verbs: ['start'] }),
  ];
  writeFileSync(file, JSON.stringify(callers));
  return file;
}

/** Odd rounds begin with the flood, so that a drift in the speed of the machine affects both runs. */
async function allRounds(stage: BenchStage, size: Size, keys: Keys, say: Say) {
  const requests = requestsOf(size.payouts, keys);
  const measured: Record<Subject, Round[]> = { starts: [], reads: [], notifications: [] };
  for (let at = 0; at < size.rounds; at += 1)
    for (const subject of SUBJECTS) {
      const run = () =>
        load({
          url: stage.apiUrl,
          connections: CONNECTIONS,
          seconds: size.seconds,
          next: requests[subject],
          sample: () => rssMiB(pidOf(stage.apiServer)),
        });
      const early = at % 2 === 0 ? await run() : undefined;
      const { result: flooded, junk } = await duringFlood(stage, keys.junk, run);
      const alone = early ?? (await run());
      say(`round ${at + 1}, ${subject}: ${alone.perSecond}/s, ${flooded.perSecond}/s with the flood`);
      measured[subject].push({ alone, flooded, junk });
    }
  return measured;
}

/** A new body each time for starts, ended payouts in turn for reads, started payouts in turn for notifications. */
function requestsOf(payouts: number, keys: Keys): Record<Subject, () => Request> {
  const json = { 'content-type': 'application/json' };
  const own = { authorization: `Bearer ${keys.shop}` };
  const idOf = (number: number) => benchRequest(number, 'default', 'success').partnerOrderId;
  let [started, read, notified] = [payouts, 0, payouts];
  return {
    starts: () => ({
      ...{ method: 'POST', path: '/v1/payouts', headers: { ...own, ...json } },
      body: JSON.stringify(benchRequest(started++, 'default', 'success')),
    }),
    reads: () => ({ method: 'GET', path: `/v1/payouts/${idOf(read++ % payouts)}`, headers: own }),
    notifications: () => {
      if (notified >= started) notified = payouts;
      const body = JSON.stringify({ partnerOrderId: idOf(notified++), status: 'SUCCESS' });
      const headers = { ...json, ...signature(body, keys.provider) };
      return { method: 'POST', path: '/v1/notifications/default', headers, body };
    },
  };
}

function signature(body: string, secret: string): Record<string, string> {
  const [id, seconds] = [randomBytes(16).toString('hex'), `${Math.floor(Date.now() / 1_000)}`];
  const signed = createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signed}` };
}

async function duringFlood<T>({ apiUrl }: BenchStage, key: string, work: () => Promise<T>) {
  const program = join(import.meta.dirname, '../flood.ts');
  const flood: ChildProcess = fork(program, [apiUrl, key], { execArgv: ['--import', 'tsx'] });
  killWithParent(flood);
  const gone = once(flood, 'exit').then(() => Promise.reject(new Error('the flood ended early')));
  gone.catch(() => undefined);
  try {
    await Promise.race([once(flood, 'message'), gone]);
    const result = await Promise.race([work(), gone]);
    const last = once(flood, 'message');
    flood.send('stop');
    const [message] = await Promise.race([last, gone]);
    const junk = readFlooded(message);
    if (!junk) throw new Error('the flood sent no figures');
    return { result, junk };
  } finally {
    flood.kill('SIGKILL');
  }
}

function figuresOf(measured: Record<Subject, Round[]>) {
  const junk = SUBJECTS.flatMap((subject) => measured[subject].map((one) => one.junk));
  const junkAnswers: Record<string, number> = {};
  for (const { answers } of junk)
    for (const [status, count] of Object.entries(answers))
      junkAnswers[status] = (junkAnswers[status] ?? 0) + count;
  return {
    starts: subjectFigures(measured.starts),
    reads: subjectFigures(measured.reads),
    notifications: subjectFigures(measured.notifications),
    junkPerSecond: round(median(junk.map(({ perSecond }) => perSecond)), 0),
    junkAnswers,
  };
}

function subjectFigures(rounds: readonly Round[]) {
  const of = (value: (round: Round, name: 'perSecond' | 'p50' | 'p99' | 'highest') => number) => {
    const middle = (name: 'perSecond' | 'p50' | 'p99' | 'highest') =>
      round(median(rounds.map((one) => value(one, name))), 3);
    return {
      perSecond: middle('perSecond'),
      p50: middle('p50'),
      p99: middle('p99'),
      rss: middle('highest'),
    };
  };
  return {
    ...of(({ alone }, name) => alone[name]),
    flooded: of(({ flooded }, name) => flooded[name]),
    ratio: of(({ alone, flooded }, name) => ratioOf(flooded[name], alone[name])),
    failed: rounds.reduce((sum, { alone, flooded }) => sum + alone.failed + flooded.failed, 0),
  };
}

/** Infinity is no JSON. */
function ratioOf(value: number, base: number): number {
  return base === 0 ? 0 : value / base;
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}
