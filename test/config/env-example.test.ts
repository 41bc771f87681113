/** `.env.example`: each process starts with its sections once the placeholders name files. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROCESSES } from '../../scripts/configuration/sections.ts';
import { variablesOf } from '../../scripts/configuration/variables.ts';
import { apiConfig } from '../../src/config/api-config.ts';
import { codecConfig } from '../../src/config/codec-config.ts';
import { workerConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { temporalConfig } from '../../src/config/temporal-config.ts';
import { callerEntry, keysFile } from '../support/callers.ts';
import { newKey, newSecret } from '../support/keys.ts';
import { secretFile } from '../support/secret-file.ts';

const TEXT = readFileSync(join(import.meta.dirname, '../../.env.example'), 'utf8');
const EVERY_PROCESS = 'Every process';

/** Values for the placeholders of a section: files that exist. */
const FILES: Readonly<Record<string, string>> = {
  'file:/run/secrets/payouts-encryption-keys': `file:${secretFile(newKey('k1'))}`,
  'file:/run/secrets/payouts-token-keys': `file:${secretFile(newKey('t1'))}`,
  'file:/run/secrets/payouts-authorization-keys': `file:${secretFile(newKey('a1'))}`,
  'file:/run/secrets/payouts-search-keys': `file:${secretFile(newKey('h1'))}`,
  'file:/run/secrets/payouts-desk-session-keys': `file:${secretFile(newKey('s1'))}`,
  'file:/run/secrets/payouts-desk-oidc-client-secret': `file:${secretFile(newSecret())}`,
  'file:/run/secrets/temporal-api-key': `file:${secretFile(newSecret())}`,
  'file:/run/secrets/payments-app-secret': `file:${secretFile(newSecret())}`,
  'file:/run/secrets/payments-signing-key': `file:${secretFile(newSecret())}`,
  'file:/run/secrets/payments-notification-secrets': `file:${secretFile(`${newSecret()},${newSecret()}`)}`,
  'file:/run/secrets/payouts-codec-keys': `file:${secretFile(`olga:${newSecret()}`)}`,
  '/etc/payouts/callers.json': keysFile([callerEntry('shop')]),
};
/** It replaces other variables, so it cannot be set beside them. */
const INSTEAD = 'PAYOUTS_APPS_FILE';

/** `optional`: also includes the values in lines that begin with `#NAME=`. */
function environmentOf(process: string, optional: boolean): Record<string, string> {
  const line = optional ? /^#?([A-Z_]+)=(.*)$/gm : /^([A-Z_]+)=(.*)$/gm;
  const found: Record<string, string> = {};
  for (const [title = '', body = ''] of sections())
    if (title === EVERY_PROCESS || title.split(', ').includes(process))
      for (const [, name = '', value = ''] of body.matchAll(line))
        if (name !== INSTEAD) found[name] = FILES[value] ?? value;
  return found;
}

function sections(): string[][] {
  return TEXT.split(/^## /m)
    .slice(1)
    .map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n'))]);
}

const STARTS: Readonly<Record<string, (environment: Environment) => unknown>> = {
  Worker: workerConfig,
  'API server': apiConfig,
  'Codec server': codecConfig,
};
const SHAPES = {
  Worker: PROCESSES.worker,
  'API server': PROCESSES['API server'],
  'Codec server': PROCESSES['codec server'],
};

describe.each(Object.entries(STARTS))('.env.example: %s', (process, start) => {
  test.each([false, true])('accepts its sections (with the optional lines: %s)', (optional) => {
    const environment = environmentOf(process, optional);
    expect(() => start(environment)).not.toThrow();
    expect(() => temporalConfig(environment)).not.toThrow();
  });

  test('requires every line that is not optional, or uses it to connect to Temporal', () => {
    const environment = environmentOf(process, false);
    const spare = Object.keys(environment).filter((name) => {
      const { [name]: _left, ...rest } = environment;
      return starts(start, rest) && !name.startsWith('TEMPORAL_');
    });
    expect(spare).toEqual(SPARE[process] ?? []);
  });
});

/** Not required by the schema, but by people. */
const SPARE: Readonly<Record<string, string[]>> = {
  'API server': ['PAYMENTS_BASE_URL'],
  'Codec server': ['PAYMENTS_ENVIRONMENT', 'PAYMENTS_BASE_URL', 'PAYOUTS_CODEC_ORIGINS'],
};

test.each(Object.entries(SHAPES))('.env.example gives %s every required variable', (process, shape) => {
  const given = environmentOf(process, true);
  const required = variablesOf(shape).flatMap(({ name, need }) => (/^required/.test(need) ? [name] : []));
  expect(required.filter((name) => !(name in given))).toEqual([]);
});

test.each(Object.entries(SHAPES))('.env.example gives %s no unknown variable', (process, shape) => {
  const known = Object.keys(shape);
  expect(Object.keys(environmentOf(process, true)).filter((name) => !known.includes(name))).toEqual([]);
});

test('.env.example holds names of files instead of secrets', () => {
  const secrets = Object.values(PROCESSES).flatMap((shape) =>
    variablesOf(shape).flatMap(({ name, isSecret }) => (isSecret ? [name] : [])),
  );
  const lines = [...TEXT.matchAll(/^#?([A-Z_]+)=(.*)$/gm)];
  for (const [, name = '', value = ''] of lines)
    if (secrets.includes(name)) expect(value).toMatch(/^file:\//);
  expect(lines.map(([, name]) => name)).toContain(INSTEAD);
});

function starts(start: (environment: Environment) => unknown, environment: Environment): boolean {
  try {
    start(environment);
    return true;
  } catch {
    return false;
  }
}
