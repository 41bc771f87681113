import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startDevServer } from '../../scripts/dev-server.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { reconciliationId } from '../../src/contract/ids.ts';
import { ensureSchedules } from '../../src/workers/kept-workflows.ts';
import { type CliRun, cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';

const PAGE = join(import.meta.dirname, '../../docs/cli.md');

const answerSchema = z.object({
  healthy: z.boolean(),
  checks: z.array(
    z.object({
      check: z.string(),
      verdict: z.enum(['ok', 'problem', 'unknown']),
      detail: z.string(),
      advice: z.string().optional(),
    }),
  ),
});

function checkOf(run: CliRun, name: string) {
  const { checks } = answerSchema.parse(run.json());
  const found = checks.find(({ check }) => check === name);
  if (!found) throw new Error(`no check ${name} in ${run.stdout}`);
  return found;
}

function problemsOf(run: CliRun): string[] {
  const { checks } = answerSchema.parse(run.json());
  return checks.filter(({ verdict }) => verdict === 'problem').map(({ check }) => check);
}

/** With today, as the quickstart makes one. */
const KEY_ID = `k-${new Date().toISOString().slice(0, 10)}`;

/** The verdict for each check, without what differs between machines; for the namespace, only that it is reported. */
function linesOf(text: string): string[] {
  return [...text.matchAll(/^(?:ok|FAIL|\?) +(.+: .+)$/gm)].map(([, line = '']) =>
    line
      .replace(/^namespace: .*/, 'namespace')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'TIME')
      .replace(/(?<=version \d+, by )[\w ]+/, 'NAME')
      .replace(/\d+@[\w.-]+/, 'WORKER')
      .replace(/k-\d{4}-\d\d-\d\d/g, 'KEY')
      .replace(/127[\d.:]+|(?<=server )[\d.]+/g, 'N')
      .replace(/\d+(?= calls per second)/, 'N')
      .replace(/(?<=payouts-api:)\w+/, 'ENVIRONMENT'),
  );
}

describe('doctor in a healthy environment', () => {
  const keys = {
    ...{ PAYOUTS_ENCRYPTION_KEYS: newKey(KEY_ID), PAYOUTS_TOKEN_KEYS: newKey('t1') },
    PAYOUTS_AUTHORIZATION_KEYS: newKey('a1'),
  };
  let world: PayoutWorld;
  const run = (change: Environment = {}, ...args: string[]) =>
    cli({ ...world.workerEnvironment, ...change }, ['doctor', '--json', ...args]);

  beforeAll(async () => {
    world = await PayoutWorld.start({ env: { ...keys, PAYMENTS_CALL_TIMEOUT: '20s' } });
    await ensureSchedules(world.client, workerConfig(world.workerEnvironment));
  });
  afterAll(() => world.stop());

  test('exits 0 with every check ok and a verdict on each open point, and prints no key', async () => {
    const answer = await run({}, '--client-id', 'client-1', '--payer-id', 'payer-1');
    expect(problemsOf(answer)).toEqual([]);
    expect(answer.code).toBe(0);
    const { healthy, checks } = answerSchema.parse(answer.json());
    expect(healthy).toBe(true);
    expect(checks.map(({ check, verdict }) => `${check}: ${verdict}`)).toEqual([
      'Temporal: ok',
      'namespace: ok',
      'search attributes: ok',
      'workflow tasks: ok',
      'priorities: ok',
      'worker versions: ok',
      'worker for workflows: ok',
      'worker for provider calls of default: ok',
      'encryption keys: ok',
      'rate-limit lease: ok',
      'shared settings: ok',
      'create calls: ok',
      'reconciliation: ok',
      'tokens: ok',
      'provider: ok',
      'clocks: ok',
    ]);
    expect(checkOf(answer, 'encryption keys').detail).toContain(KEY_ID);
    for (const ring of Object.values(keys)) expect(answer.stdout).not.toContain(ring.split(':')[1]);
  });

  test('reports a reconciliation that is paused or missing', async () => {
    const schedule = world.client.schedule.getHandle(reconciliationId('test'));
    await schedule.pause('while we look');
    const paused = checkOf(await run({}), 'reconciliation');
    expect(paused).toMatchObject({ verdict: 'problem', detail: expect.stringContaining('while we look') });
    await schedule.delete();
    expect(checkOf(await run({}), 'reconciliation')).toMatchObject({ verdict: 'problem' });
    await ensureSchedules(world.client, workerConfig(world.workerEnvironment));
    expect(checkOf(await run({}), 'reconciliation')).toMatchObject({ verdict: 'ok' });
  });

  test('prints readable text without --json', async () => {
    const answer = await cli(world.workerEnvironment, ['doctor']);
    expect(answer.stdout).toMatch(/^ok {3}Temporal: .*server \d+\.\d+/m);
    expect(answer.stdout).toContain('What the specification leaves open');
    expect(answer.stdout).toMatch(/^│ signature +│ holds /m);
    expect(answer.stdout).toMatch(/^not probed \(--json says why\): [\w-]+(?:,\s[\w-]+)+$/m);
    // A test does not check the age of its keys.
    const page = linesOf(readFileSync(PAGE, 'utf8')).filter((line) => !line.startsWith('age of'));
    expect(linesOf(answer.stdout)).toEqual(page);
  });

  test('reports another key under the same id, and a missing key, with advice', async () => {
    const other = await run({ PAYOUTS_ENCRYPTION_KEYS: newKey(KEY_ID) });
    expect(other.code).toBe(6);
    expect(checkOf(other, 'encryption keys')).toMatchObject({
      verdict: 'problem',
      detail: expect.stringMatching(new RegExp(`^worker \\d+@\\S+ .*could not process .*\\(${KEY_ID}\\)`)),
      advice: expect.stringContaining('PAYOUTS_ENCRYPTION_KEYS'),
    });
    expect(checkOf(other, 'provider').verdict).toBe('unknown');
    const none = await run({ PAYOUTS_ENCRYPTION_KEYS: '' });
    expect(checkOf(none, 'encryption keys').detail).toMatch(
      /^worker \d+@\S+ refuses what this machine \(no key\) does not encrypt/,
    );
  });

  test('reports a machine whose clock is five minutes ahead', async () => {
    const ahead = 'const now = Date.now; Date.now = () => now() + 300_000;';
    const answer = await run({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}` });
    // Temporal may repeat workflow tasks on a loaded machine, which is another problem.
    expect(problemsOf(answer)).toContain('clocks');
    expect(checkOf(answer, 'clocks').detail).toMatch(/Temporal against this machine: \d+ s behind/);
  });

  test('reports a provider without usable answers as a problem, not as an open question', async () => {
    const fault = { kind: 'status', status: 503 } as const;
    const { id } = world.simulator.control.addFault({ operation: 'any', fault });
    const answer = await run();
    world.simulator.control.removeFault(id);
    expect(answer.code).toBe(6);
    // Temporal may repeat workflow tasks on a loaded machine, which is another problem.
    expect(problemsOf(answer)).toContain('provider');
    expect(checkOf(answer, 'provider').detail).toContain('503');
  });

  test('says which probes the provider answered with 429', async () => {
    const fault = { kind: 'status', status: 429 } as const;
    const { id } = world.simulator.control.addFault({ operation: 'queryResult', fault });
    const answer = await run();
    world.simulator.control.removeFault(id);
    expect(checkOf(answer, 'provider').verdict).toBe('ok');
    expect(checkOf(answer, 'rate limit')).toMatchObject({
      verdict: 'unknown',
      detail: expect.stringMatching(/429 to the probes trade-token, signature, unknown-order/),
      advice: expect.stringContaining('PayoutsRateLimited'),
    });
  });

  test('reports unserved queues, a missing search attribute and short retention, each with the command to run', async () => {
    await world.stopWorkers();
    const { connection } = world.client;
    const { namespace } = world;
    await connection.operatorService.removeSearchAttributes({
      namespace,
      searchAttributes: ['PayoutOutcome'],
    });
    const answer = await eventually(async () => {
      const seen = await run({ PAYMENTS_ENVIRONMENT: 'sandbox', PAYMENTS_BASE_URL: '' });
      return seen.stdout.includes('missing: PayoutOutcome') ? seen : undefined;
    });
    expect(answer.code).toBe(6);
    expect(checkOf(answer, 'search attributes').advice).toContain('--name PayoutOutcome --type Keyword');
    expect(checkOf(answer, 'namespace').advice).toContain(`update --retention 31d --namespace ${namespace}`);
    expect(checkOf(answer, 'worker for workflows')).toMatchObject({
      detail: expect.stringMatching(/^no worker is running \(last seen \d+ s ago\)$/),
      advice: expect.stringContaining('start a worker'),
    });
    expect(checkOf(answer, 'provider').detail).toMatch(/^not checked: no worker is running/);
    expect(answer.stdout).not.toContain('encryption keys');
  });
});

describe('doctor in an environment that is broken from the start', () => {
  test('names the code of a provider that rejects the token request, and makes no futile calls', async () => {
    const world = await PayoutWorld.start({ env: { PAYMENTS_APP_SECRET: 'mistyped' } });
    try {
      const answer = await eventually(async () => {
        const seen = await cli(world.workerEnvironment, ['doctor', '--json']);
        return seen.stdout.includes('REFUSED') ? seen : undefined;
      });
      expect(answer.code).toBe(6);
      expect(checkOf(answer, 'tokens')).toMatchObject({
        detail: expect.stringMatching(/^application: .*REFUSED/),
        advice: expect.stringMatching(/PAYMENTS_APP_SECRET.*payouts tokens/),
      });
      expect(checkOf(answer, 'provider').detail).toBe('not checked: there is no application token');
    } finally {
      await world.stop();
    }
  });

  test('a provider that cannot be reached: the tokens say why, and what to look at', async () => {
    const world = await PayoutWorld.start({ env: { PAYMENTS_BASE_URL: 'http://127.0.0.1:9' } });
    try {
      const answer = await eventually(async () => {
        const seen = await cli(world.workerEnvironment, ['doctor', '--json']);
        return seen.stdout.includes('ECONNREFUSED') ? seen : undefined;
      });
      expect(answer.code).toBe(6);
      expect(checkOf(answer, 'tokens')).toMatchObject({
        detail: expect.stringMatching(/^application: no token yet: .*ECONNREFUSED/),
        advice: expect.stringMatching(/PAYMENTS_BASE_URL.*egress addresses/),
      });
      expect(checkOf(answer, 'provider').detail).toBe('not checked: there is no application token');
    } finally {
      await world.stop();
    }
  });

  test('reports a server without priorities, and a missing namespace', async () => {
    const temporal = await startDevServer({
      always: true,
      ui: false,
      dynamicConfig: { 'matching.useNewMatcher': false, 'matching.enableFairness': false },
    });
    try {
      const environment = { PAYMENTS_ENVIRONMENT: 'test', PAYMENTS_BASE_URL: 'http://127.0.0.1:9' };
      const there = { ...environment, TEMPORAL_ADDRESS: temporal.address };
      expect(checkOf(await cli(there, ['doctor', '--json']), 'priorities')).toMatchObject({
        verdict: 'problem',
        advice: expect.stringContaining('matching.useNewMatcher'),
      });
      const nowhere = await cli({ ...there, TEMPORAL_NAMESPACE: 'nope' }, ['doctor', '--json']);
      expect(nowhere.code).toBe(6);
      expect(checkOf(nowhere, 'namespace').advice).toContain('namespace create');
    } finally {
      await temporal.stop();
    }
  });

  test('answers with advice when Temporal is unavailable, and when required keys are missing', async () => {
    const local = { PAYMENTS_ENVIRONMENT: 'test', PAYMENTS_BASE_URL: 'http://127.0.0.1:9' };
    const away = await cli({ ...local, TEMPORAL_ADDRESS: '127.0.0.1:9' }, ['doctor', '--json']);
    expect(away.code).toBe(6);
    expect(checkOf(away, 'Temporal').advice).toContain('TEMPORAL_ADDRESS');
    const keyless = await cli({ PAYMENTS_ENVIRONMENT: 'production' }, ['doctor', '--json']);
    expect(checkOf(keyless, 'settings').detail).toContain('PAYOUTS_ENCRYPTION_KEYS');
  });
});
