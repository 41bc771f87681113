/** The queries of the dashboards and of the pages for operators, and the metrics in them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dashboardFiles } from '../../chaos/drill/dashboards.ts';

const ROOT = join(import.meta.dirname, '../..');
export const PROMETHEUS = join(ROOT, 'deploy/prometheus');
export const RUNBOOK = 'docs/alerts.md';
export const dashboards = dashboardFiles();

/** The queries that the pages for operators give. */
export const queries = [RUNBOOK, 'docs/operations.md', 'docs/observability.md'].flatMap((path) =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^ *```promql\n([^`]+)```$/gm)].map(
    ([, query = '']) => [path, query.trim()] as const,
  ),
);
export const panels = dashboards.flatMap(({ title, panels }) =>
  panels.flatMap((panel) => panel.targets.map(({ expr }) => [`${title}, ${panel.title}`, expr] as const)),
);

/** Without the suffixes of a histogram. */
export function metricsIn(expr: string): string[] {
  const found = withoutMatchers(expr).match(/\b(?:payouts|temporal|nodejs|process)_\w+|\bup\b/g) ?? [];
  return [...new Set(found.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))];
}

function withoutMatchers(expr: string): string {
  return expr.replace(/\{[^}]*\}/g, '');
}
