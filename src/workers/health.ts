/**
 * `GET /livez`: restart this worker if it fails. `GET /readyz`: this worker serves tasks; a rolling deployment waits for it.
 * Neither says anything about the provider, so that an outage there restarts no worker.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Client } from '@temporalio/client';
import type { Listen } from '../config/values.ts';
import type { Drain } from '../runtime/process.ts';
import { type Clock, repeat } from '../runtime/runtime.ts';

/** Shorter than the timeout of most probes. */
const TEMPORAL_TIMEOUT_MS = 900;

export interface Health {
  drain: Drain;
  clock: Clock;
  /** Whether all SDK workers run. */
  isRunning(): boolean;
  client: Client;
}

/** Serves both until the returned function is called. */
export async function serveHealth({ host, port }: Listen, health: Health): Promise<() => void> {
  const lag = new EventLoopLag(health.clock);
  const problems = {
    '/livez': async () => (lag.isStuck ? 'the event loop is late' : undefined),
    '/readyz': () => notReady(health),
  };
  const server = createServer(({ method, url = '' }, response) => {
    const problem = method === 'GET' && (url === '/livez' || url === '/readyz') && problems[url];
    if (!problem) return response.writeHead(404).end();
    return problem().then((detail) => {
      const [code, body] =
        detail === undefined ? [200, { status: 'ok' }] : [503, { status: 'failed', detail }];
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  server.listen(port, host);
  await once(server, 'listening');
  return () => {
    lag.stop();
    server.close();
    server.closeAllConnections();
  };
}

async function notReady({ drain, isRunning, client, clock }: Health): Promise<string | undefined> {
  if (drain.hasBegun) return 'this worker is about to end';
  if (!isRunning()) return 'this worker is starting';
  const { namespace } = client.options;
  const describe = () => client.workflowService.describeNamespace({ namespace });
  return client.withDeadline(clock.wallMs() + TEMPORAL_TIMEOUT_MS, describe).then(
    () => undefined,
    () => 'Temporal does not respond, or the namespace cannot be used',
  );
}

const SAMPLE_EVERY_MS = 1_000;
const MAX_LATE_MS = 1_000;
/** A process that was frozen for a while is late once, and goes on. */
const SAMPLES = 10;

/** Whether the event loop of this process keeps up: a timer that is late by more than a second, again and again, says no. */
export class EventLoopLag {
  readonly stop: () => void;
  /** Late samples in a row. */
  private late = 0;

  constructor(clock: Clock) {
    let lastMs = clock.nowMs();
    this.stop = repeat(clock, SAMPLE_EVERY_MS, () => {
      const now = clock.nowMs();
      this.late = now - lastMs - SAMPLE_EVERY_MS > MAX_LATE_MS ? this.late + 1 : 0;
      lastMs = now;
    });
  }

  get isStuck(): boolean {
    return this.late >= SAMPLES;
  }
}
