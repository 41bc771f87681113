/** docs/configuration.md matches the schemas, and names every variable that the code reads. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  APPLICATIONS_EXAMPLE,
  APPROVALS_EXAMPLE,
  CALLERS_EXAMPLE,
  PROCESSES,
  SECTIONS,
} from '../../scripts/configuration/sections.ts';
import { nodeSettings, uiSettings } from '../../scripts/topology/settings.ts';
import { CONFIGURATION_PAGE, configurationPage } from '../../scripts/write-configuration.ts';
import { applicationsFile } from '../../src/config/applications.ts';
import { approvalsFile, callersFile } from '../../src/config/callers.ts';
import { payoutSettings, workerConfig } from '../../src/config/config.ts';
import { OPEN_POINTS } from '../../src/contract/open-points.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAMS = ['src', 'simulator', 'demo', 'scripts', 'bench', 'chaos', 'worlds', 'fuzz'];
/** Variables of the operating system, of Node and of GitHub Actions. */
const SYSTEM = ['GITHUB_REPOSITORY', 'HOME', 'NODE_ENV', 'PATH', 'TMPDIR'];
/** Names that look like variables of ours and are not. */
const NO_VARIABLES = [
  // A reason code.
  'SPLITS_CHANGED',
  // In the curl lines that the demo prints.
  'PAYOUTS_URL',
  // Between our processes.
  'PAYOUTS_COMPILED_PROGRAMS',
  // Of the Temporal server and its UI, which our commands start.
  'TEMPORAL_BROADCAST_ADDRESS',
  'TEMPORAL_CORS_ORIGINS',
  'TEMPORAL_SERVICES',
  ...Object.keys(nodeSettings('')),
  ...Object.keys(uiSettings('')),
  // A constant of deploy/keys.mjs.
  'TEMPORAL_SERVER_NAME',
  // Prefixes of names.
  'TEMPORAL_GRPC_META_',
  'TEMPORAL_TLS_',
  'TEMPORAL_GRPC_META_NAME',
];

const TRIAL = {
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'http://127.0.0.1:8090',
  PAYMENTS_AUTH_URL: 'http://127.0.0.1:8090',
  PAYMENTS_APP_ID: 'demo-app',
  PAYMENTS_APP_SECRET: 'demo-secret',
};

const page = readFileSync(CONFIGURATION_PAGE, 'utf8');
/** The first column of every table. */
const documented = new Set([...page.matchAll(/^\| `([A-Z_]+)` /gm)].map(([, name = '']) => name));

const programs = textsOf(PROGRAMS);
const compose = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8');

function textsOf(folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(ts|mjs)$/.test(name) && !name.includes('node_modules'))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
  );
}

function undocumented(names: Iterable<string>): string[] {
  const exempt = [...SYSTEM, ...NO_VARIABLES];
  return [...new Set(names)].filter((name) => !documented.has(name) && !exempt.includes(name)).sort();
}

describe('docs/configuration.md', () => {
  test('equals the output of npm run generate', () => {
    expect(page).toBe(configurationPage());
  });

  test('names every environment variable that a program reads', () => {
    const direct = [...programs, ...textsOf(['test'])].flatMap((text) =>
      [...text.matchAll(/\benv(?:\.|\['|\?\.\[')([A-Z][A-Z_]+)\b/g)].map(([, name = '']) => name),
    );
    const taken = programs.flatMap((text) =>
      [...text.matchAll(/\{([^{}]*)\} = process\.env/g)].flatMap(
        ([, names = '']) => names.match(/[A-Z_]{2,}/g) ?? [],
      ),
    );
    expect(direct.length).toBeGreaterThan(20);
    expect(taken).toContain('NO_COLOR');
    expect(undocumented([...direct, ...taken])).toEqual([]);
  });

  test('names every string in the code that has the form of one of our variables', () => {
    const all = programs.join('\n');
    const constants = new Set([...all.matchAll(/\bconst ([A-Z_]+)\b/g)].map(([, name]) => name));
    const used = all.match(/\b(?:PAY[A-Z]*|TEMPORAL|SIMULATOR)_[A-Z_]+\b/g) ?? [];
    const codes = /^(?:PAYMENT_|TEMPORAL_UNAVAILABLE$)/;
    expect(undocumented(used.filter((name) => !constants.has(name) && !codes.test(name)))).toEqual([]);
  });

  test('names the variables that docker-compose.yml reads', () => {
    const taken = [...compose.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name);
    expect(taken).toContain('POSTGRES_PASSWORD');
    expect(undocumented(taken)).toEqual([]);
  });

  test('names no variable that nothing reads', () => {
    const read = [
      ...textsOf([...PROGRAMS.filter((folder) => folder !== 'scripts'), 'scripts/setup', 'test']),
      compose,
    ]
      .join('\n')
      // What Temporal's own package reads appears in the schema only.
      .concat(Object.keys(PROCESSES.worker).join('\n'));
    expect([...documented].filter((name) => !new RegExp(`\\b${name}\\b`).test(read))).toEqual([]);
  });

  test('names every setting of the open points', () => {
    const named = OPEN_POINTS.flatMap(({ setting }) => setting?.match(/(PAYMENTS|PAYOUTS)_[A-Z_]+/g) ?? []);
    expect(undocumented(named)).toEqual([]);
  });

  test('the page about upgrades names the settings that a payout keeps', () => {
    const { env } = workerConfig(TRIAL);
    const kept = new Set<string>();
    const observed = new Proxy(env, {
      get: (target, name, receiver) => {
        kept.add(String(name));
        return Reflect.get(target, name, receiver);
      },
    });
    payoutSettings(observed, 'payouts-api');
    // A payout of another environment is rejected.
    kept.delete('PAYMENTS_ENVIRONMENT');
    const upgrading = readFileSync(join(ROOT, 'docs/upgrading.md'), 'utf8');
    const [, section = ''] =
      /### What a change of settings does\n([\s\S]*?)\n\nA payout/.exec(upgrading) ?? [];
    const named = [...section.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name);
    expect(named).toEqual([...kept].sort());
  });

  test('has a section for every variable of every process', () => {
    const inSections = new Set(
      SECTIONS.flatMap(({ tables }) => tables.flatMap(({ shape }) => Object.keys(shape))),
    );
    for (const shape of Object.values(PROCESSES))
      expect(Object.keys(shape).filter((name) => !inSections.has(name))).toEqual([]);
  });

  test.each(['PAYMENTS_APP_ID', 'PAYMENTS_APP_SECRET', 'PAYMENTS_AUTH_URL'])(
    'says that %s is required',
    (name) => {
      expect(page).toMatch(new RegExp(`^\\| \`${name}\` +\\| \\w+ +\\| required`, 'm'));
    },
  );

  test('shows files that the processes accept', () => {
    expect(Object.keys(applicationsFile.parse(JSON.parse(APPLICATIONS_EXAMPLE)))).toEqual(['east', 'west']);
    expect(Object.keys(approvalsFile.parse(JSON.parse(APPROVALS_EXAMPLE)).callers)).toEqual(['shop']);
    expect(callersFile.parse(JSON.parse(CALLERS_EXAMPLE)).map(({ name }) => name)).toEqual(['shop']);
  });
});
