import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { dashboardFiles } from '../../chaos/drill/dashboards.ts';
import { INCIDENTS } from '../../chaos/drill/incidents.ts';
import { anchorOf, anchorsOf } from '../../scripts/markdown.ts';
import { SDK_METRICS } from '../../scripts/reference/texts.ts';
import { findPrometheus } from '../../scripts/setup/prometheus.mjs';
import { type Metric, WORKER_METRICS } from '../../src/domain/metrics.ts';
import { API_METRICS } from '../../src/starters/api/metrics.ts';

const ROOT = join(import.meta.dirname, '../..');
const LEASE_OWNER = 'payouts_lease_owner';
const PROMETHEUS = join(ROOT, 'deploy/prometheus');
const run = promisify(execFile);

const rules = z
  .object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            alert: z.string(),
            expr: z.string(),
            labels: z.object({ severity: z.enum(['critical', 'warning', 'info']) }),
            annotations: z.object({ summary: z.string(), runbook_url: z.string() }),
          }),
        ),
      }),
    ),
  })
  .parse(parse(readFileSync(join(PROMETHEUS, 'alerts.yml'), 'utf8')))
  .groups.flatMap((group) => group.rules);
const names = rules.map(({ alert }) => alert);

const unitTests = z
  .object({
    tests: z.array(
      z.object({
        alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })),
      }),
    ),
  })
  .parse(parse(readFileSync(join(PROMETHEUS, 'alerts.test.yml'), 'utf8')))
  .tests.flatMap((one) => one.alert_rule_test);

const dashboards = dashboardFiles();

const RUNBOOK = 'docs/alerts.md';
const runbook = readFileSync(join(ROOT, RUNBOOK), 'utf8');
const sections = runbook.split(/^## /m).slice(1);

/** The queries that the pages for operators give. */
const queries = [RUNBOOK, 'docs/operations.md', 'docs/observability.md'].flatMap((path) =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^ *```promql\n([^`]+)```$/gm)].map(
    ([, query = '']) => [path, query.trim()] as const,
  ),
);
const panels = dashboards.flatMap(({ title, panels }) =>
  panels.flatMap((panel) => panel.targets.map(({ expr }) => [`${title}, ${panel.title}`, expr] as const)),
);

describe('alert rules', () => {
  test('are exactly the alerts of the runbook', () => {
    expect(names.length).toBeGreaterThan(15);
    expect(sections.map((section) => section.split('\n')[0])).toEqual(names);
  });

  test.each(rules)('$alert points to its own section', ({ alert, annotations }) => {
    expect(annotations.runbook_url).toBe(`${RUNBOOK}#${anchorOf(alert)}`);
    expect(anchorsOf(runbook)).toContain(anchorOf(alert));
  });

  test.each(sections)('the section has the same parts: %s', (section) => {
    const parts = [...section.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, part]) => part);
    expect(parts).toEqual(['Means.', 'Money at risk?', 'Confirm.', 'Do.']);
  });

  test('include that of each incident of the drill', () => {
    expect(INCIDENTS.map(({ alert }) => alert).filter((alert) => !names.includes(alert))).toEqual([]);
  });

  test('each has a unit test in which it fires, and one in which it does not', () => {
    const firing = unitTests.filter((one) => one.exp_alerts.length > 0).map((one) => one.alertname);
    const quiet = unitTests.filter((one) => one.exp_alerts.length === 0).map((one) => one.alertname);
    expect([...new Set(firing)]).toEqual(names);
    expect([...new Set(quiet)]).toEqual(names);
  });

  describe('in Prometheus', () => {
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
});

describe('dashboards', () => {
  test('are the four', () => {
    expect(dashboards.map(({ title }) => title).sort()).toEqual(
      ['Payouts: money', 'Payouts: provider', 'Payouts: Temporal', 'Payouts: workers'].sort(),
    );
  });

  test('show each of our metrics of a worker', () => {
    const shown = new Set(panels.flatMap(([, expr]) => metricsIn(expr)));
    expect(Object.keys(WORKER_METRICS).filter((name) => !shown.has(name))).toEqual([]);
  });
});

describe('every metric that is named exists, with the labels that are named:', () => {
  const table: Record<string, readonly string[]> = {
    ...Object.fromEntries(Object.entries(WORKER_METRICS).map(([name, { labels }]) => [name, labels])),
    ...Object.fromEntries(Object.entries(SDK_METRICS).map(([name, { labels }]) => [name, labels])),
    ...Object.fromEntries(Object.values(API_METRICS).map(({ name, labelNames }) => [name, labelNames])),
    up: ['job'],
    nodejs_eventloop_lag_p99_seconds: [],
  };
  const named = [...rules.map(({ alert, expr }) => [alert, expr] as const), ...panels, ...queries];

  test.each(named)('%s: %s', (_where, expr) => {
    const used = metricsIn(expr);
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((name) => !(name in table))).toEqual([]);
    const known = ['le', 'instance', 'job', ...used.flatMap((name) => table[name] ?? [])];
    expect(labelsIn(expr).filter((label) => !known.includes(label))).toEqual([]);
  });

  test('finds a metric and a label that do not exist', () => {
    const expr = 'sum by (color) (rate(payouts_made_up_total{shape="round"}[5m]))';
    expect(metricsIn(expr)).toEqual(['payouts_made_up_total']);
    expect(labelsIn(expr)).toEqual(['color', 'shape']);
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

/** Without the suffixes of a histogram. */
function metricsIn(expr: string): string[] {
  const found = withoutMatchers(expr).match(/\b(?:payouts|temporal|nodejs|process)_\w+|\bup\b/g) ?? [];
  return [...new Set(found.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))];
}

function withoutMatchers(expr: string): string {
  return expr.replace(/\{[^}]*\}/g, '');
}

function labelsIn(expr: string): string[] {
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(','));
  const matched = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
  );
  return [...new Set([...grouped, ...matched].map((label) => label.trim()))];
}
