import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { DYNAMIC_CONFIG } from '../../scripts/dev-server.ts';
import { PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/search-attributes.ts';
import { composeFile, ourServices, ROOT, services } from './compose-file.ts';

describe('the compose topology', () => {
  test.each(services())(
    '%s depends only on existing services, in a state they can reach',
    (_name, service) => {
      const { services: all } = composeFile();
      for (const [needed, { condition }] of Object.entries(service.depends_on)) {
        expect(all).toHaveProperty([needed]);
        if (condition === 'service_healthy') expect(all[needed]?.healthcheck).toBeDefined();
        if (condition === 'service_completed_successfully')
          expect(all[needed]?.['restart']).not.toBe('unless-stopped');
      }
    },
  );

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
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test('no two services publish the same port', () => {
    const published = services().flatMap(([, { ports }]) => ports.map((port) => port.split(':')[1]));
    expect(new Set(published).size).toBe(published.length);
  });

  test.each(services())('%s runs a pinned image or our own', (_name, { image = '', build }) => {
    if (build === undefined) expect(image).toMatch(/^[\w/-]+:\d+\.\d+(\.\d+)?$/);
    else {
      const { context, target } = typeof build === 'string' ? { context: build, target: '' } : build;
      expect(readFileSync(join(ROOT, context, 'Dockerfile'), 'utf8')).toContain(target && ` AS ${target}\n`);
    }
  });

  test('passwords and secrets come from the environment, with a default for trials', () => {
    const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');
    const given = text.split('\n').filter((line) => /(PASSWORD|PWD|SECRET|TOKEN|KEY)\w*"?: /i.test(line));
    expect(given.length).toBeGreaterThan(0);
    for (const line of given) expect(line).toMatch(/: "?\$\{\w+:-[\w-]+\}/);
  });
});

describe('our services in the compose topology', () => {
  test.each(ourServices())('%s starts a program that the image contains', (_name, { command = [] }) => {
    // The image contains the compiled program.
    const program = (command.at(-1) ?? '').replace(/\.js$/, '.ts');
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
    '%s receives only variables that our programs or Temporal read',
    (_name, service) => {
      const sources = sourceText();
      const unread = Object.keys(service.environment).filter(
        (name) => !sources.includes(name) && !/^TEMPORAL_(ADDRESS|NAMESPACE)$/.test(name),
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

const dynamicConfigFile = z.record(
  z.string(),
  z.array(
    z.strictObject({ value: z.unknown(), constraints: z.record(z.string(), z.string()).exactOptional() }),
  ),
);

function dynamicConfig() {
  const setting = composeFile().services['temporal']?.environment['DYNAMIC_CONFIG_FILE_PATH'] ?? '';
  const [, file = ''] = /^config\/dynamicconfig\/(.+)$/.exec(setting) ?? [];
  return dynamicConfigFile.parse(
    parse(readFileSync(join(ROOT, 'deploy/temporal/dynamicconfig', file), 'utf8')),
  );
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
