/**
 * The alerts of `deploy/prometheus` as a resource of the Prometheus Operator, which Kustomize can't make.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from './setup/process.mjs';

export const PROMETHEUS_RULE = join(projectRoot, 'deploy/kubernetes/components/monitoring/alerts.yaml');

export function prometheusRule(): string {
  const alerts = readFileSync(join(projectRoot, 'deploy/prometheus/alerts.yml'), 'utf8');
  const groups = alerts.slice(alerts.indexOf('\ngroups:') + 1);
  return `# Written by \`npm run generate\` from deploy/prometheus/alerts.yml; change them there.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: payouts
spec:
${groups.replace(/^(?=.)/gm, '  ')}`;
}
