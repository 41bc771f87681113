/** The manifests of deploy/kubernetes: rendered by Kustomize, valid by the schemas of Kubernetes, and true to our programs. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { PROCESSES } from '../../scripts/configuration/sections.ts';
import { buildExample, PYTHON, whyUnavailable } from '../../scripts/setup/examples.ts';
import { findKustomize } from '../../scripts/setup/go-programs.ts';
import { PROMETHEUS_RULE, prometheusRule } from '../../scripts/write-alerts.ts';
import { composeFile } from '../compose/compose-file.ts';
import { temporaryFolder } from '../setup/fakes.ts';

const FOLDER = join(import.meta.dirname, '../../deploy/kubernetes');
const OVERLAYS = ['sandbox', 'production', 'cloud'];

/** PyPI's `kubernetes-validate` has the schemas of each version of Kubernetes. */
const VALIDATOR = {
  ...PYTHON,
  folder: 'test/kubernetes',
  program: (_source: string, target: string) => [join(target, 'bin/kubernetes-validate')],
};
const unavailable = await whyUnavailable(VALIDATOR);
if (unavailable !== undefined) console.warn(unavailable);

const container = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).default([]),
  env: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
  envFrom: z.array(z.object({ configMapRef: z.object({ name: z.string() }) })).default([]),
});
const resource = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), labels: z.record(z.string(), z.string()).optional() }),
  data: z.record(z.string(), z.string()).default({}),
  spec: z
    .looseObject({
      template: z
        .looseObject({
          spec: z.looseObject({
            terminationGracePeriodSeconds: z.number(),
            containers: z.array(container).length(1),
          }),
        })
        .optional(),
    })
    .optional(),
});
type Resource = z.output<typeof resource>;

/** What the validator says about the resources, which Kubernetes itself knows. */
async function validated(resources: readonly unknown[]): Promise<{ isValid: boolean; output: string }> {
  const [command = '', ...args] = await buildExample(VALIDATOR);
  const file = join(temporaryFolder(), 'resources.yaml');
  writeFileSync(file, resources.map((one) => `---\n${JSON.stringify(one)}\n`).join(''));
  const { status, stdout, stderr } = spawnSync(command, [...args, '--strict', file], { encoding: 'utf8' });
  return { isValid: status === 0, output: stdout + stderr };
}

/** `folder`: the base or an overlay. */
async function rendered(folder: string): Promise<{ text: string; resources: Resource[] }> {
  const text = execFileSync(await findKustomize(), ['build', join(FOLDER, folder)], {
    encoding: 'utf8',
  });
  return { text, resources: parseAllDocuments(text).map((document) => resource.parse(document.toJS())) };
}

function isOfKubernetes({ apiVersion }: Resource): boolean {
  return !/^(keda\.sh|monitoring\.coreos\.com)\//.test(apiVersion);
}

describe.each(OVERLAYS)('the overlay %s', (overlay) => {
  test.skipIf(unavailable !== undefined)('is valid by the schemas of Kubernetes', async () => {
    const { text } = await rendered(`overlays/${overlay}`);
    const documents = parseAllDocuments(text).map((document): unknown => document.toJS());
    const ofKubernetes = documents.filter((one) => isOfKubernetes(resource.parse(one)));
    const { isValid, output } = await validated(ofKubernetes);
    expect([isValid, output]).toEqual([true, expect.any(String)]);
    expect(output.match(/ passed for resource /g)).toHaveLength(ofKubernetes.length);
  });

  test.each([
    ['payouts-worker', PROCESSES.worker],
    ['payouts-api', PROCESSES['API server']],
    ['payouts-codec-server', PROCESSES['codec server']],
  ])('%s gets only variables that it reads, and more time to stop than it drains', async (name, shape) => {
    const { resources } = await rendered(`overlays/${overlay}`);
    const pod = resources.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)?.spec
      ?.template?.spec;
    const [program] = pod?.containers ?? [];
    const maps = program?.envFrom.map(({ configMapRef }) => configMapRef.name) ?? [];
    const given = [
      ...(program?.env ?? []).map((one) => one.name),
      ...resources
        .filter(({ metadata }) => maps.includes(metadata.name))
        .flatMap(({ data }) => Object.keys(data)),
    ];
    expect(given.length).toBeGreaterThan(2);
    expect(given.filter((variable) => !(variable in shape) && variable !== 'NODE_OPTIONS')).toEqual([]);
    expect(program?.env.find((one) => one.name === 'NODE_OPTIONS')?.value).toBe(
      composeFile().services[name.slice('payouts-'.length)]?.environment['NODE_OPTIONS'],
    );
    const drainMs: number = 'PAYOUTS_DRAIN' in shape ? shape.PAYOUTS_DRAIN.parse(undefined) : 0;
    expect((pod?.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(drainMs);
  });
});

const DOCS = ['kubernetes', 'temporal-cloud']
  .map((name) => readFileSync(join(FOLDER, `../../docs/${name}.md`), 'utf8').replaceAll('\\\n', ''))
  .join('\n');
const reader = z.looseObject({
  containers: z.tuple([
    z.looseObject({ volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })) }),
  ]),
  volumes: z.array(
    z.looseObject({ name: z.string(), secret: z.object({ secretName: z.string() }).optional() }),
  ),
});
const tls = z.object({ tls: z.array(z.object({ secretName: z.string() })) });

test.each(OVERLAYS)('a command creates each secret that the overlay %s reads', async (overlay) => {
  const { text, resources } = await rendered(`overlays/${overlay}`);
  const commands = DOCS.split('\n').filter((line) => line.includes('create'));
  const ingresses = resources.filter(({ kind }) => kind === 'Ingress').map(({ spec }) => tls.parse(spec));
  for (const { secretName } of ingresses.flatMap((one) => one.tls))
    expect(commands).toContainEqual(expect.stringContaining(`secret tls ${secretName} --cert=`));
  const pods = resources.filter(({ kind }) => kind === 'Deployment').map((one) => one.spec?.template?.spec);
  for (const pod of pods.map((one) => reader.parse(one)))
    for (const { name, secret } of pod.volumes) {
      if (secret === undefined) continue;
      const path = pod.containers[0].volumeMounts.find((mount) => mount.name === name)?.mountPath;
      // The settings of Temporal are in a ConfigMap that all programs share.
      const settings = name === 'temporal' ? text : JSON.stringify(pod);
      const files = [...settings.matchAll(new RegExp(`${path}/([\\w.-]+)`, 'g'))].map(([, file]) => file);
      expect(files.length).toBeGreaterThan(0);
      const own = commands.filter((command) => command.includes(secret.secretName)).join();
      for (const file of files)
        expect([secret.secretName, own]).toEqual([
          secret.secretName,
          expect.stringMatching(`--from-file=${file}\\b`),
        ]);
    }
});

const monitor = z.object({
  selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
  endpoints: z.tuple([
    z.strictObject({
      port: z.string(),
      scrapeTimeout: z.string().optional(),
      authorization: z
        .strictObject({ credentials: z.strictObject({ name: z.string(), key: z.string() }) })
        .optional(),
    }),
  ]),
});
const serviceSpec = z.looseObject({ ports: z.array(z.looseObject({ name: z.string() })) });

test('Prometheus scrapes services that exist, under the names that the alerts know', async () => {
  const { resources } = await rendered('overlays/production');
  const monitors = resources.filter(({ kind }) => kind === 'ServiceMonitor');
  expect(monitors.map(({ metadata }) => metadata.name).sort()).toEqual(['payouts-api', 'payouts-worker']);
  for (const { metadata, spec } of monitors) {
    const { selector, endpoints } = monitor.parse(spec);
    const services = resources.filter(
      ({ kind, metadata: { labels } }) =>
        kind === 'Service' &&
        labels?.['app.kubernetes.io/name'] === selector.matchLabels['app.kubernetes.io/name'],
    );
    expect(services.map((one) => one.metadata.name)).toEqual([metadata.name]);
    const ports = serviceSpec.parse(services[0]?.spec).ports.map(({ name }) => name);
    expect(ports).toContain(endpoints[0].port);
    const key = endpoints[0].authorization?.credentials;
    if (key) expect(DOCS).toContain(`create secret generic ${key.name} --from-file=${key.key}\n`);
  }
});

test('the alerts of the Prometheus Operator are those of Prometheus', async () => {
  expect(readFileSync(PROMETHEUS_RULE, 'utf8')).toBe(prometheusRule());
  const source: unknown = parse(readFileSync(join(FOLDER, '../prometheus/alerts.yml'), 'utf8'));
  const { resources } = await rendered('overlays/production');
  expect(resources.find(({ kind }) => kind === 'PrometheusRule')?.spec).toEqual(source);
});

const rule = z.object({
  from: z
    .array(z.object({ namespaceSelector: z.unknown() }))
    .min(1)
    .optional(),
  to: z.array(z.object({ namespaceSelector: z.unknown() })).optional(),
  ports: z.array(z.looseObject({ port: z.union([z.string(), z.number()]) })).min(1),
});
const policy = z.object({
  podSelector: z.object({ matchLabels: z.record(z.string(), z.string()).optional() }),
  policyTypes: z.array(z.enum(['Ingress', 'Egress'])),
  ingress: z.array(rule.required({ from: true })).default([]),
  egress: z.array(rule).default([]),
});

test.each(OVERLAYS)(
  'H274 the overlay %s denies all traffic that a program does not need',
  async (overlay) => {
    const { resources } = await rendered(`overlays/${overlay}`);
    const policies = new Map(
      resources
        .filter(({ kind }) => kind === 'NetworkPolicy')
        .map(({ metadata, spec }) => [metadata.name, policy.parse(spec)]),
    );
    expect(policies.get('default-deny')).toEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
      ingress: [],
      egress: [],
    });
    const ports = z.looseObject({ ports: z.array(z.object({ name: z.string() })) });
    for (const { metadata, spec } of resources.filter(({ kind }) => kind === 'Deployment')) {
      const own = policies.get(metadata.name);
      expect(own?.podSelector.matchLabels).toEqual({ 'app.kubernetes.io/name': metadata.name });
      const declared = ports.parse(spec?.template?.spec.containers[0]).ports.map(({ name }) => name);
      const reached = own?.ingress.flatMap((one) => one.ports.map(({ port }) => port));
      expect(declared).toEqual(expect.arrayContaining(reached ?? ['none']));
    }
    expect(policies.get('payouts-codec-server')?.egress).toEqual([]);
  },
);

test.skipIf(unavailable !== undefined)('a misspelled field is not valid', async () => {
  const text = readFileSync(join(FOLDER, 'base/worker.yaml'), 'utf8').replace(
    'livenessProbe',
    'livenesProbe',
  );
  const { isValid, output } = await validated(parseAllDocuments(text).map((document) => document.toJS()));
  expect(isValid).toBe(false);
  expect(output).toContain('livenesProbe');
});

test('the cloud overlay connects with an API key, and the pods scale by its namespace', async () => {
  const { text } = await rendered('overlays/cloud');
  expect(text).toContain('TEMPORAL_API_KEY: file:/run/secrets/temporal/temporal-api-key');
  expect(text).not.toContain('svc.cluster.local');
  expect(text).not.toContain('TEMPORAL_TLS_CLIENT');
});

test('the Worker Controller runs the same container as the Deployment, by a version', async () => {
  const text = readFileSync(join(FOLDER, 'worker-controller/worker-deployment.yaml'), 'utf8');
  const [, controlled] = parseAllDocuments(text).map((one) => resource.parse(one.toJS()));
  const { resources } = await rendered('base');
  const deployment = resources.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'payouts-worker',
  );
  const ofController = controlled?.spec?.template?.spec;
  const ofBase = deployment?.spec?.template?.spec;
  const [own] = ofController?.containers ?? [];
  expect({ ...own, command: [], image: '' }).toEqual({ ...ofBase?.containers[0], command: [], image: '' });
  expect(own?.command.join(' ')).toContain('PAYOUTS_BUILD_ID="$TEMPORAL_WORKER_BUILD_ID"');
  expect({ ...ofController, containers: [] }).toEqual({ ...ofBase, containers: [] });
});
