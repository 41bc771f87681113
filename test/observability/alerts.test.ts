import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { INCIDENTS } from '../../chaos/drill/incidents.ts';
import { SDK_METRICS } from '../../scripts/reference/texts.ts';
import { findPrometheus } from '../../scripts/setup/prometheus.mjs';
import { WORKER_METRICS } from '../../src/domain/metrics.ts';
import { API_METRICS } from '../../src/starters/api/metrics.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROMETHEUS = join(ROOT, 'deploy/prometheus');
const GRAFANA = join(ROOT, 'deploy/grafana/dashboards');
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
            annotations: z.object({ summary: z.string(), runbook: z.literal('docs/operations.md#alerts') }),
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

const dashboard = z.object({
  title: z.string(),
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});
const dashboards = readdirSync(GRAFANA).map((name) =>
  dashboard.parse(JSON.parse(readFileSync(join(GRAFANA, name), 'utf8'))),
);

describe('alert rules', () => {
  test('are exactly the alerts of the runbook', () => {
    const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
    const section = page.slice(page.indexOf('## Alerts'), page.indexOf('### Provider outage'));
    const rows = [...section.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(15);
    expect(rows).toEqual(names);
  });

  test('include that of each incident of the drill', () => {
    expect(INCIDENTS.map(({ alert }) => alert).filter((alert) => !names.includes(alert))).toEqual([]);
  });

  test('each has a unit test in which it fires, and one in which it does not', () => {
    const firing = unitTests.filter((one) => one.exp_alerts.length > 0).map((one) => one.alertname);
    const quiet = unitTests.filter((one) => one.exp_alerts.length === 0).map((one) => one.alertname);
    expect(firing).toEqual(names);
    expect(quiet).toEqual(names);
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

    test('a rule that is never true fails these tests', async ({ skip }) => {
      if (promtool === undefined) return skip('promtool is not installed');
      const text = readFileSync(join(PROMETHEUS, 'alerts.yml'), 'utf8').replace(
        'payouts_lease_owner) == 0',
        'payouts_lease_owner) == 7',
      );
      const { mkdtempSync, rmSync, writeFileSync } = await import('node:fs');
      const folder = mkdtempSync(join(ROOT, 'node_modules/.cache/alerts-'));
      try {
        writeFileSync(join(folder, 'alerts.yml'), text);
        writeFileSync(
          join(folder, 'alerts.test.yml'),
          readFileSync(join(PROMETHEUS, 'alerts.test.yml'), 'utf8'),
        );
        await expect(run(promtool, ['test', 'rules', 'alerts.test.yml'], { cwd: folder })).rejects.toThrow(
          'PayoutsNoLeaseOwner',
        );
      } finally {
        rmSync(folder, { recursive: true });
      }
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
    const all = dashboards
      .flatMap(({ panels }) => panels.flatMap(({ targets }) => targets))
      .map(({ expr }) => expr);
    const shown = new Set(all.flatMap(metricsIn));
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
  const named = [
    ...rules.map(({ alert, expr }) => [alert, expr] as const),
    ...dashboards.flatMap(({ title, panels }) =>
      panels.flatMap((panel) => panel.targets.map(({ expr }) => [`${title}, ${panel.title}`, expr] as const)),
    ),
  ];

  test.each(named)('%s: %s', (_where, expr) => {
    const used = metricsIn(expr);
    expect(used.length).toBeGreaterThan(0);
    expect(used.filter((name) => !(name in table))).toEqual([]);
    const known = ['le', 'instance', ...used.flatMap((name) => table[name] ?? [])];
    expect(labelsIn(expr).filter((label) => !known.includes(label))).toEqual([]);
  });

  test('finds a metric and a label that do not exist', () => {
    const expr = 'sum by (color) (rate(payouts_made_up_total{shape="round"}[5m]))';
    expect(metricsIn(expr)).toEqual(['payouts_made_up_total']);
    expect(labelsIn(expr)).toEqual(['color', 'shape']);
  });
});

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
