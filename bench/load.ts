/** Sends requests from several connections and measures their responses. The generator is autocannon. */
import { once } from 'node:events';
import autocannon from 'autocannon';
import { percentile, round } from './measures.ts';
import { TimedOut } from './waits.ts';

/** Sends while connections are opened, before the measurement. */
const RAMP_MS = 1_000;
const SAMPLE_MS = 200;
const MIN_ACCEPTED = 10;
/** Longer than a measurement takes on any machine. */
const LIMIT_SECONDS = 300;

export interface LoadOptions {
  url: string;
  connections: number;
  /** Of the measurement. */
  seconds: number;
  next: () => autocannon.Request;
  /** Called during the measurement, several times per second. */
  sample: () => number;
}

export interface Measured {
  perSecond: number;
  p50: number;
  p99: number;
  /** The highest sample. */
  highest: number;
  failed: number;
}

/**
 * Each connection sends its next request when it has the response to the last one. On a slow machine, the measurement lasts
 * until enough requests are accepted. Throws `TimedOut` if they are not.
 */
export async function load({ url, connections, seconds, next, sample }: LoadOptions): Promise<Measured> {
  const begunMs = performance.now() + RAMP_MS;
  let endedMs: number | undefined;
  const took: number[] = [];
  const samples: number[] = [];
  let failed = 0;
  const run = autocannon(
    {
      ...{ url, connections, sampleInt: SAMPLE_MS },
      ...{ duration: LIMIT_SECONDS, requests: [{ setupRequest: next }] },
    },
    (error: unknown) => {
      if (error) run.emit('error', error);
    },
  );
  run.on('response', (_client, status, _bytes, ms) => {
    if (performance.now() < begunMs || endedMs !== undefined) return;
    if (status >= 200 && status < 300) took.push(ms);
    else failed += 1;
  });
  run.on('reqError', () => {
    failed += 1;
  });
  const sampling = setInterval(() => {
    if (performance.now() < begunMs || endedMs !== undefined) return;
    samples.push(sample());
    if (performance.now() < begunMs + seconds * 1_000 || took.length < MIN_ACCEPTED) return;
    endedMs = performance.now();
    run.stop();
  }, SAMPLE_MS);
  await once(run, 'done').finally(() => clearInterval(sampling));
  if (endedMs === undefined) throw new TimedOut(`${took.length} accepted requests in ${LIMIT_SECONDS} s`);
  return {
    perSecond: round((took.length * 1_000) / (endedMs - begunMs), 1),
    p50: round(percentile(took, 0.5), 2),
    p99: round(percentile(took, 0.99), 2),
    highest: round(Math.max(...samples), 0),
    failed,
  };
}
