/**
 * Writes the alerts of `deploy/prometheus` as a resource of the Prometheus Operator, which Kustomize can't make:
 * `node --import tsx scripts/write-alerts.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './setup/process.mjs';

export const PROMETHEUS_RULE = join(projectRoot, 'deploy/kubernetes/components/monitoring/alerts.yaml');

export function prometheusRule(): string {
  const alerts = readFileSync(join(projectRoot, 'deploy/prometheus/alerts.yml'), 'utf8');
  const groups = alerts.slice(alerts.indexOf('\ngroups:') + 1);
  return `# Written by \`node --import tsx scripts/write-alerts.ts\` from deploy/prometheus/alerts.yml; change them there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: payouts
spec:
${groups.replace(/^(?=.)/gm, '  ')}`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(PROMETHEUS_RULE, prometheusRule());
