import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { SDK_METRICS } from '../../scripts/reference/texts.ts';
import { findPrometheus } from '../../scripts/setup/prometheus.ts';
import { WORKER_METRICS } from '../../src/domain/telemetry.ts';
import { eventually } from '../support/eventually.ts';
import { get, post } from '../support/http.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

/** They appear only after what they count has happened, or with an endpoint, a user or a notification. */
const RARE = [
  /^payouts_(attention|event|endpoints|notification|rate_limited|collector_failures|token_attention)/,
  /^temporal_(workflow_task_execution_failed|activity_execution_failed|sticky_cache_total|request_failure)/,
];

describe('a worker', () => {
  let world: PayoutWorld;
  let worker: OwnProcess;
  let address: string;
  const flagged = payoutRequest(newPartnerOrderId(), { platform: 'sim:stuck' });

  const testStartedMs = Date.now();

  beforeAll(async () => {
    world = await PayoutWorld.start({ idle: true, env: { PAYOUTS_ENCRYPTION_KEYS: newKey('k-2026-01-31') } });
    const [port = 0, healthPort = 0] = await freePorts(2);
    address = `127.0.0.1:${port}`;
    const listen = { PAYOUTS_METRICS_LISTEN: address, PAYOUTS_HEALTH_LISTEN: `127.0.0.1:${healthPort}` };
    worker = await startProgram(
      'src/workers/main.ts',
      { ...world.workerEnvironment, ...listen, PAYOUTS_OVERDUE_AFTER: '1ms' },
      /worker ready/,
    );
  });
  afterAll(async () => {
    await worker?.stop('SIGTERM');
    await world?.stop();
  });

  const scrape = async (): Promise<string> => (await request(`http://${address}/metrics`)).body.text();
  /** The value of the first series of the metric that has these labels. */
  const valueIn = (text: string, name: string, labels: Record<string, string> = {}): number | undefined => {
    const line = text
      .split('\n')
      .find(
        (one) =>
          (one.startsWith(`${name}{`) || one.startsWith(`${name} `)) &&
          Object.entries(labels).every(([label, value]) => one.includes(`${label}="${value}"`)),
      );
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
  };

  test('says at its start by which name Temporal knows it, and where it serves metrics', async () => {
    const identity = `${worker.child.pid}@${hostname()}`;
    expect(worker.output()).toMatch(/^worker ready: .*$/m);
    const [line] = /^worker ready: .*$/m.exec(worker.output()) ?? [];
    expect(line).toContain(`, identity ${identity}, metrics ${address}, health 127.0.0.1:`);
    const ready = await eventually(() => /^\{.*"worker\.ready".*\}$/m.exec(worker.output())?.[0]);
    expect(JSON.parse(ready)).toMatchObject({
      ...{ level: 'info', event: 'worker.ready', identity, environment: 'test', apps: ['default'] },
      ...{ metrics: address, health: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
    });
  });

  test('H370 opens one poll for each kind of token call', async () => {
    const polls = await eventually(async () => {
      const text = await scrape();
      const queues = ['application', 'urgent', 'due', 'anonymous'].map((lane) =>
        valueIn(text, 'temporal_num_pollers', { task_queue: `payouts-tokens-${lane}:test:default` }),
      );
      // A queue may not be polled yet, or its only poll has a task.
      return queues.every((count) => count !== undefined && count > 0) ? queues : undefined;
    });
    expect(polls).toEqual([1, 1, 1, 1]);
  });

  test('counts what payouts do, and what waits in Temporal, by our own values only', async () => {
    const { payouts } = world;
    const paid = payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' });
    await payouts.result(await payouts.start(paid));
    await payouts.start(payoutRequest(newPartnerOrderId(), { approval: 'required' }));
    await payouts.start(flagged);
    const text = await eventually(async () => {
      const now = await scrape();
      const rests = valueIn(now, 'payouts_open', { phase: 'AWAITING_APPROVAL' });
      return rests === 1 && valueIn(now, 'payouts_attention', { code: 'ORDER_OVERDUE' }) === 1
        ? now
        : undefined;
    });
    expect(valueIn(text, 'payouts_ended', { outcome: 'SUCCESS', learned_by: 'poll' })).toBe(1);
    expect(valueIn(text, 'payouts_started')).toBe(3);
    expect(valueIn(text, 'payouts_creates', { answer: 'created' })).toBe(2);
    expect(valueIn(text, 'payouts_lock_to_create_seconds_count')).toBe(2);
    expect(valueIn(text, 'payouts_provider_calls', { operation: 'createPayout', outcome: 'OK' })).toBe(2);
    expect(valueIn(text, 'payouts_lease_owner', { app: 'default' })).toBe(1);
    expect(valueIn(text, 'payouts_rate_limit_calls_per_second')).toBe(500);
    expect(valueIn(text, 'payouts_attention_raised', { code: 'ORDER_OVERDUE' })).toBe(1);
    expect(valueIn(text, 'payouts_calls_waiting')).toBe(0);
    for (const written of [paid.partnerOrderId, paid.clientId, paid.payerId])
      expect(text).not.toContain(written);
  });

  test('H283 counts the payloads that it and the API server encrypt, by key', async () => {
    const metric = 'payouts_payloads_encrypted';
    const count = async () => valueIn(await scrape(), metric, { key: 'k-2026-01-31' }) ?? 0;
    const before = await count();
    expect(before).toBeGreaterThan(0);
    const [port = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const environment = {
      ...world.workerEnvironment,
      PAYOUTS_TOKEN_KEYS: '',
      PAYOUTS_API_LISTEN: `127.0.0.1:${port}`,
    };
    const api = await startProgram('src/starters/api/main.ts', environment, /listening on/);
    try {
      await post(
        `${url}/v1/payouts`,
        payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' }),
      );
      expect(String((await get(`${url}/metrics`)).body)).toMatch(
        /^payouts_payloads_encrypted\{key="k-2026-01-31"\} [1-9]/m,
      );
    } finally {
      await api.stop('SIGTERM');
    }
    await eventually(async () => (await count()) > before || undefined);
  });

  test('tells when its process started', async () => {
    const startedMs = 1_000 * (valueIn(await scrape(), 'process_start_time_seconds') ?? Number.NaN);
    expect(startedMs).toBeGreaterThan(testStartedMs);
    expect(startedMs).toBeLessThan(Date.now());
  });

  test('serves every metric of the tables that needs no special event', async () => {
    const text = await scrape();
    const expected = [...Object.keys(WORKER_METRICS), ...Object.keys(SDK_METRICS)].filter(
      (name) => !RARE.some((pattern) => pattern.test(name)),
    );
    expect(expected.length).toBeGreaterThan(20);
    expect(expected.filter((name) => !text.includes(`# TYPE ${name} `))).toEqual([]);
  });

  test('makes an alert fire in a real Prometheus', async ({ skip }) => {
    const found = await findPrometheus();
    if (!found) return skip('Prometheus is not installed');
    const folder = mkdtempSync(join(tmpdir(), 'payouts-prometheus-'));
    const [port = 0] = await freePorts(1);
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [join(folder, 'alerts.yml')],
      scrape_configs: [{ job_name: 'payouts-worker', static_configs: [{ targets: [address] }] }],
    };
    // The unit tests of the rules show for how long each waits.
    const rules = readFileSync(join(import.meta.dirname, '../../deploy/prometheus/alerts.yml'), 'utf8');
    writeFileSync(join(folder, 'alerts.yml'), rules.replaceAll(/^( +)for: \w+$/gm, '$1for: 1s'));
    // JSON is YAML.
    writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
    const prometheus = spawn(
      found.prometheus,
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
    const exited = once(prometheus, 'exit');
    try {
      const alert = await eventually(async () => {
        const alerts = await alertsOf(`http://127.0.0.1:${port}`).catch(() => []);
        return alerts.find(
          ({ labels, state }) => labels['alertname'] === 'PayoutsNeedAttention' && state === 'firing',
        );
      });
      expect(alert.labels).toMatchObject({ code: 'ORDER_OVERDUE', app: 'default' });
    } finally {
      prometheus.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true });
    }
  });
});

const alertsAnswer = z.object({
  data: z.object({
    alerts: z.array(z.object({ state: z.string(), labels: z.record(z.string(), z.string()) })),
  }),
});

async function alertsOf(url: string) {
  const { body } = await request(`${url}/api/v1/alerts`);
  return alertsAnswer.parse(await body.json()).data.alerts;
}
