import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { INCIDENTS } from '../../chaos/drill/incidents.ts';
import { anchorOf, anchorsOf } from '../../scripts/markdown.ts';
import { SDK_METRICS } from '../../scripts/reference/texts.ts';
import { WORKER_METRICS } from '../../src/domain/telemetry.ts';
import { API_METRICS } from '../../src/starters/api/monitoring.ts';
import { dashboards, metricsIn, PROMETHEUS, panels, queries, RUNBOOK } from './queries.ts';

const ROOT = join(import.meta.dirname, '../..');

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

const runbook = readFileSync(join(ROOT, RUNBOOK), 'utf8');
const sections = runbook.split(/^## /m).slice(1);

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

function labelsIn(expr: string): string[] {
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(','));
  const matched = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
  );
  return [...new Set([...grouped, ...matched].map((label) => label.trim()))];
}
