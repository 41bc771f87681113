import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { FILES } from '../../deploy/keys.mjs';
import { DYNAMIC_CONFIG } from '../../scripts/dev-server.ts';
import { temporalShape } from '../../src/config/temporal-config.ts';
import { PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/namespace.ts';
import { composeFile, ourServices, ROOT, type Service, services } from './compose-file.ts';

describe('the compose topology', () => {
  test.each(services())(
    '%s depends only on existing services, in a state they can reach',
    (_name, service) => {
      const { services: all } = composeFile();
      for (const [needed, { condition }] of Object.entries(service.depends_on)) {
        expect(all).toHaveProperty([needed]);
        if (condition === 'service_healthy') expect(all[needed]?.healthcheck).toBeDefined();
        if (condition === 'service_completed_successfully') expect(isJob(all[needed])).toBe(true);
      }
    },
  );

  test('a service waits for the end of each job: `--wait` counts other jobs that have ended as failed', () => {
    const awaited = services().flatMap(([, service]) =>
      Object.entries(service.depends_on).flatMap(([name, { condition }]) =>
        condition === 'service_completed_successfully' ? [name] : [],
      ),
    );
    const jobs = services().flatMap(([name, service]) => (isJob(service) ? [name] : []));
    expect(jobs.filter((name) => !awaited.includes(name) && name !== 'operator')).toEqual([]);
  });

  test.each(services())('%s uses only declared networks and volumes', (_name, service) => {
    const { services: all, networks, volumes } = composeFile();
    for (const network of service.networks) expect(networks).toHaveProperty([network]);
    const [, other] = /^service:(.+)$/.exec(service.network_mode ?? '') ?? [];
    if (other !== undefined) expect(all).toHaveProperty([other]);
    expect(service.networks.length > 0 || other !== undefined).toBe(true);
    for (const [source = ''] of service.volumes.map((volume) => volume.split(':'))) {
      if (source.startsWith('.')) expect(existsSync(join(ROOT, source))).toBe(true);
      else expect(volumes).toHaveProperty([source]);
    }
  });

  test.each(services())('%s publishes ports on loopback only', (_name, { ports }) => {
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+(-\d+)?:\d+$/);
  });

  test('no two services publish the same port', () => {
    const published = services().flatMap(([, { ports }]) => ports.flatMap(publishedPorts));
    expect(new Set(published).size).toBe(published.length);
  });

  test.each(services())('%s runs a pinned image or our own', (_name, { image = '', build }) => {
    if (build === undefined) expect(image).toMatch(/^[\w/-]+:v?\d+\.\d+(\.\d+)?$/);
    else {
      const { context, target } = typeof build === 'string' ? { context: build, target: '' } : build;
      expect(readFileSync(join(ROOT, context, 'Dockerfile'), 'utf8')).toContain(target && ` AS ${target}\n`);
    }
  });

  test('a service with several processes publishes a port for each', () => {
    for (const [, { ports, deploy }] of services())
      for (const port of ports) expect(publishedPorts(port)).toHaveLength(deploy?.replicas ?? 1);
  });

  test('keys are in volumes, and passwords come from the environment with a default for trials', () => {
    const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
    const given = text.split('\n').filter((line) => /(PASSWORD|PWD|SECRET|TOKEN|KEY)\w*"?: /i.test(line));
    expect(given.length).toBeGreaterThan(0);
    for (const line of given) expect(line).toMatch(/: (file:)?\/keys\/[\w.-]+$|: "?\$\{\w+:-[\w-]+\}/);
  });

  test.each(services())(
    '%s cannot write its root, has no capabilities and is a numbered user',
    (_name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        user: expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/),
      });
    },
  );

  test.each(services().filter(([, service]) => !isJob(service)))(
    '%s has a health check and limited resources',
    (_name, { healthcheck, deploy }) => {
      expect(healthcheck).toBeDefined();
      expect(deploy?.resources.limits).toBeDefined();
    },
  );
});

describe('our services in the compose topology', () => {
  const programs = ourServices().filter(([name]) => name !== 'operator');

  test.each(programs)('%s starts a program that the image contains', (_name, { command = [] }) => {
    const started = command.find((part) => /\.m?[jt]s$/.test(part)) ?? '';
    // The image contains the compiled program.
    const program = started.replace(/\.js$/, '.ts');
    expect(existsSync(join(ROOT, program))).toBe(true);
    expect(copiedFolders()).toContain(program.split('/')[0]);
  });

  test.each(ourServices())(
    '%s has a health check that the image contains, where it has one',
    (_name, service) => {
      for (const file of service.healthcheck?.test.filter((part) => part.endsWith('.mjs')) ?? []) {
        expect(existsSync(join(ROOT, file))).toBe(true);
        expect(copiedFolders()).toContain(file.split('/')[0]);
      }
    },
  );

  test.each(ourServices())(
    '%s receives only variables that our programs, Temporal or Node read',
    (_name, service) => {
      const sources = sourceText();
      const unread = Object.keys(service.environment).filter(
        (name) => !sources.includes(name) && !(name in temporalShape) && name !== 'NODE_OPTIONS',
      );
      expect(unread).toEqual([]);
    },
  );
});

describe('files that compose mounts', () => {
  test('the server reads the mounted dynamic configuration, and the dev server uses the same', () => {
    const everywhere = Object.entries(dynamicConfig()).map(([name, values]) => [
      name,
      values.find(({ constraints }) => constraints === undefined)?.value,
    ]);
    expect(Object.fromEntries(everywhere)).toEqual(DYNAMIC_CONFIG);
  });

  test('H62 queries cannot block workflow tasks: their queue uses the classic matcher', () => {
    const onlyFor = { constraints: { taskQueueName: PAYOUTS_TASK_QUEUE } };
    const exceptions = Object.entries(dynamicConfig()).flatMap(([name, values]) =>
      values.filter(({ constraints }) => constraints !== undefined).map((one) => [name, one] as const),
    );
    expect(exceptions).toEqual([
      ['matching.useNewMatcher', { value: false, ...onlyFor }],
      // Fairness would select the newer matcher.
      ['matching.enableFairness', { value: false, ...onlyFor }],
      ['matching.numTaskqueueReadPartitions', { value: 4, ...onlyFor }],
      ['matching.numTaskqueueWritePartitions', { value: 4, ...onlyFor }],
    ]);
  });

  test('the namespace job registers the search attributes of the dev server', () => {
    const script = readFileSync(join(ROOT, 'deploy/temporal/namespace.sh'), 'utf8');
    const registered = Object.fromEntries(
      [...script.matchAll(/\b(Payout\w+)=(\w+)/g)].map(([, name, type]) => [name, type]),
    );
    expect(registered).toEqual(SEARCH_ATTRIBUTES);
  });
});

describe('Prometheus and Grafana in the compose topology', () => {
  test('Prometheus scrapes every process of ours that has metrics, with the key that it is given', () => {
    const { scrape_configs: jobs } = scrapeFile.parse(parse(deployed('prometheus/prometheus.yml')));
    const scraped = jobs.map(({ job_name, dns_sd_configs: [{ names, port }] }) => [job_name, names[0], port]);
    const { services: all } = composeFile();
    expect(scraped).toEqual([
      ['payouts-worker', 'worker', portOf(all['worker']?.environment['PAYOUTS_METRICS_LISTEN'])],
      ['payouts-api', 'api', portOf(all['api']?.environment['PAYOUTS_API_LISTEN'])],
    ]);
    for (const { authorization } of jobs)
      if (authorization)
        expect(FILES.prometheus).toContain(authorization.credentials_file.slice('/keys/'.length));
    for (const [, name] of scraped) expect(all).toHaveProperty([String(name)]);
  });

  test('Grafana reads that Prometheus and the dashboards of this repository', () => {
    const { services: all } = composeFile();
    expect(deployed('grafana/provisioning/datasources/prometheus.yaml')).toContain('http://prometheus:9090');
    const path = /path: (\S+)/.exec(deployed('grafana/provisioning/dashboards/payouts.yaml'))?.[1] ?? '';
    expect(all['grafana']?.volumes).toContain(`./deploy/grafana/dashboards:${path}:ro`);
    expect(readdirSync(join(ROOT, 'deploy/grafana/dashboards')).length).toBeGreaterThan(0);
  });
});

const scrapeFile = z.looseObject({
  scrape_configs: z.array(
    z.object({
      job_name: z.string(),
      authorization: z.object({ credentials_file: z.string() }).optional(),
      dns_sd_configs: z.tuple([
        z.object({ names: z.array(z.string()), port: z.number(), type: z.literal('A') }),
      ]),
    }),
  ),
});

function deployed(file: string): string {
  return readFileSync(join(ROOT, 'deploy', file), 'utf8');
}

function portOf(address = ''): number {
  return Number(address.split(':')[1]);
}

const dynamicConfigFile = z.record(
  z.string(),
  z.array(
    z.strictObject({ value: z.unknown(), constraints: z.record(z.string(), z.string()).exactOptional() }),
  ),
);

function dynamicConfig() {
  const setting = composeFile().services['temporal-matching']?.environment['DYNAMIC_CONFIG_FILE_PATH'] ?? '';
  const [, file = ''] = /^config\/dynamicconfig\/(.+)$/.exec(setting) ?? [];
  return dynamicConfigFile.parse(
    parse(readFileSync(join(ROOT, 'deploy/temporal/dynamicconfig', file), 'utf8')),
  );
}

/** Runs once, and is not started again after it succeeded. */
function isJob(service: Service | undefined): boolean {
  return service?.restart !== 'unless-stopped';
}

function publishedPorts(port: string): number[] {
  const [first = 0, last = first] = (port.split(':')[1] ?? '').split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

function copiedFolders(): string[] {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  return [...dockerfile.matchAll(/^COPY (?!--)(\S+)/gm)].map(([, from = '']) => from.split('/')[0] ?? '');
}

function sourceText(): string {
  return ['src', 'simulator']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((f) => join(folder, f)),
    )
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n');
}
