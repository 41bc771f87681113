/** docker-compose.yml and `npm run topology` are the same topology. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FILES, makeKeys } from '../../deploy/keys.mjs';
import {
  apiSettings,
  clientSettings,
  codecSettings,
  nodeSettings,
  OUR_PROGRAMS,
  POSTGRES_SETTINGS,
  TEMPORAL_NODES,
  uiSettings,
  workerSettings,
} from '../../scripts/topology/settings.ts';
import { apiShape } from '../../src/config/api-config.ts';
import { codecShape } from '../../src/config/codec-config.ts';
import { workerShape } from '../../src/config/config.ts';
import { durationMs } from '../../src/config/durations.ts';
import { temporaryFolder } from '../setup/fakes.ts';
import { composeFile, ROOT } from './compose-file.ts';

const { services } = composeFile();
const KEYS = '/keys';

/** Where a process listens, and where it finds the others: a port of its own on loopback, or a name in the network. */
const PLACES = [
  ...['DB_PORT', 'POSTGRES_SEEDS', 'POSTGRES_PWD', 'SQL_PASSWORD', 'BIND_ON_IP', 'DYNAMIC_CONFIG_FILE_PATH'],
];

describe('docker-compose.yml is the topology of `npm run topology`', () => {
  test.each(Object.entries(TEMPORAL_NODES))(
    'Temporal %s: the same processes and settings',
    (role, replicas) => {
      const { environment, deploy } = service(`temporal-${role}`);
      const settings = Object.entries(environment).filter(([name]) => !PLACES.includes(name));
      expect(Object.fromEntries(settings)).toEqual({ ...nodeSettings(KEYS), TEMPORAL_SERVICES: role });
      expect(deploy?.replicas).toBe(replicas);
    },
  );

  test.each(Object.entries(OUR_PROGRAMS))('%s: the same number of processes', (name, replicas) => {
    expect(service(name).deploy?.replicas).toBe(replicas);
  });

  test('PostgreSQL: the same version and settings', () => {
    const { image, command = [] } = service('postgresql');
    expect(image).toMatch(/^postgres:15\./);
    const settings = Object.entries(POSTGRES_SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    expect(command).toEqual(['postgres', ...settings]);
  });

  test.each([
    ['worker', workerSettings(KEYS)],
    ['api', apiSettings(KEYS)],
    ['codec-server', codecSettings(KEYS)],
    ['temporal-ui', uiSettings(KEYS)],
    ['temporal-namespace', clientSettings(KEYS)],
  ])('%s: the same settings', (name, settings) => {
    expect(service(name).environment).toMatchObject(settings);
  });

  test.each([
    ['worker', workerShape],
    ['api', apiShape],
    ['codec-server', codecShape],
  ])('%s has longer to stop than it drains', (name, shape) => {
    const drainMs: number = 'PAYOUTS_DRAIN' in shape ? shape.PAYOUTS_DRAIN.parse(undefined) : 0;
    expect(durationMs(service(name).stop_grace_period)).toBeGreaterThan(drainMs);
  });
});

describe('the keys of the topology', () => {
  test.each(Object.keys(FILES))('%s sees its own folder and no other', (program) => {
    const readers = Object.entries(services).filter(([, { volumes }]) =>
      volumes.some((volume) => volume.startsWith(`keys-${program}:/keys:`)),
    );
    expect(readers.length).toBeGreaterThan(0);
    for (const [, { volumes }] of readers) {
      expect(volumes.filter((volume) => volume.startsWith('keys-'))).toEqual([`keys-${program}:/keys:ro`]);
    }
    expect(service('keys').volumes).toContain(`keys-${program}:/keys/${program}`);
    expect(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).toContain(` /keys/${program}`);
  });

  test('every file that a setting names is in the folder of its program', () => {
    for (const [name, { environment, volumes }] of Object.entries(services)) {
      const named = Object.values(environment).flatMap((value) => value.match(/(?<=\/keys\/)[\w.-]+/g) ?? []);
      const [, program = ''] =
        /^keys-([\w-]+):\/keys:/.exec(volumes.find((one) => one.startsWith('keys-')) ?? '') ?? [];
      const files = Object.entries(FILES).find(([of]) => of === program)?.[1] ?? [];
      expect([name, named.filter((file) => !files.includes(file))]).toEqual([name, []]);
    }
  });

  test('are made once: each program has its files, and a second run changes nothing', () => {
    const folder = temporaryFolder();
    const read = () =>
      Object.keys(FILES).flatMap((program) =>
        readdirSync(join(folder, program)).map((file) => [
          program,
          file,
          readFileSync(join(folder, program, file), 'utf8'),
        ]),
      );
    makeKeys(folder);
    const made = read();
    for (const [program, files] of Object.entries(FILES))
      expect(made.filter(([of]) => of === program).map(([, file]) => file)).toEqual([...files].sort());
    makeKeys(folder);
    expect(read()).toEqual(made);
    // Nobody can sign another certificate.
    expect(made.map(([, file]) => file)).not.toContain('ca.key');
  });
});

function service(name: string) {
  const found = services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}
