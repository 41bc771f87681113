/** The alert rules, the dashboards and the queries of the pages for operators, in a real Prometheus. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { findPrometheus } from '../../scripts/setup/prometheus.ts';
import { type Metric, WORKER_METRICS } from '../../src/domain/telemetry.ts';
import { metricsIn, PROMETHEUS, panels, queries } from './queries.ts';

const ROOT = join(import.meta.dirname, '../..');
const LEASE_OWNER = 'payouts_lease_owner';
const run = promisify(execFile);

describe('alert rules in Prometheus', () => {
  let promtool: string | undefined;
  beforeAll(async () => {
    promtool = (await findPrometheus())?.promtool;
  }, 600_000);

  test('each fires on its series, and not on others', async ({ skip }) => {
    if (promtool === undefined) return skip('promtool is not installed');
    const { stdout } = await run(promtool, ['test', 'rules', 'alerts.test.yml'], { cwd: PROMETHEUS });
    expect(stdout).toContain('SUCCESS');
  });

  test('reads every query of the dashboards and of the pages for operators', async ({ skip }) => {
    if (promtool === undefined) return skip('promtool is not installed');
    const records = [...queries, ...panels].map(([, expr], at) => ({ record: `query:${at}`, expr }));
    const file = { groups: [{ name: 'queries', rules: records }] };
    const { stdout } = await inFolder({ 'queries.yml': file }, (folder) =>
      run(promtool ?? '', ['check', 'rules', join(folder, 'queries.yml')]),
    );
    expect(stdout).toContain(`${records.length} rules found`);
  });

  test('panels of the gauges of the lease owner show nothing without an owner', async ({ skip }) => {
    if (promtool === undefined) return skip('promtool is not installed');
    const gauges = Object.entries<Metric>(WORKER_METRICS)
      .filter(([name, { kind, labels }]) => kind === 'gauge' && labels.length > 0 && name !== LEASE_OWNER)
      .map(([name]) => name);
    const exprs = panels.map(([, expr]) => expr).filter((expr) => metricsIn(expr).some(isOneOf(gauges)));
    expect(exprs.length).toBeGreaterThanOrEqual(gauges.length);
    const labels = 'app="east",phase="p",code="c",operation="o",outcome="OK"';
    /** What fails of the expectation that no panel shows anything: with an owner, each. */
    const shown = async (isOwned: 0 | 1) => {
      const series = [LEASE_OWNER, ...gauges].map((name) => ({
        series: `${name}{${name === LEASE_OWNER ? 'app="east"' : labels}}`,
        values: `${isOwned}x10`,
      }));
      const calls = { series: `payouts_provider_calls{${labels}}`, values: '0+60x10' };
      const promql_expr_test = exprs.map((expr) => ({
        ...{ expr: expr.replaceAll('$app', '.*'), eval_time: '10m', exp_samples: [] },
      }));
      const tests = [{ interval: '1m', input_series: [...series, calls], promql_expr_test }];
      const { stdout, stderr } = await inFolder({ 'panels.yml': { tests } }, (folder) =>
        run(promtool ?? '', ['test', 'rules', join(folder, 'panels.yml')]).catch((error) => error),
      );
      return [...`${stdout}${stderr}`.matchAll(/expr: "/g)].length;
    };
    expect(await shown(1)).toBe(exprs.length);
    expect(await shown(0)).toBe(0);
  });

  test('a rule that is never true fails these tests', async ({ skip }) => {
    if (promtool === undefined) return skip('promtool is not installed');
    const text = readFileSync(join(PROMETHEUS, 'alerts.yml'), 'utf8').replace(
      'payouts_lease_owner) == 0',
      'payouts_lease_owner) == 7',
    );
    const tests = readFileSync(join(PROMETHEUS, 'alerts.test.yml'), 'utf8');
    await inFolder({ 'alerts.yml': text, 'alerts.test.yml': tests }, (cwd) =>
      expect(run(promtool ?? '', ['test', 'rules', 'alerts.test.yml'], { cwd })).rejects.toThrow(
        'PayoutsNoLeaseOwner',
      ),
    );
  });
});

/** Calls `use` with a folder of these files, which is removed afterwards. JSON is YAML. */
async function inFolder<T>(
  files: Readonly<Record<string, string | object>>,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(ROOT, 'node_modules/.cache/alerts-'));
  try {
    for (const [name, content] of Object.entries(files))
      writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function isOneOf(names: readonly string[]): (name: string) => boolean {
  return (name) => names.includes(name);
}
