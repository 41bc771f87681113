/** The client package: what it contains, what it needs, and whether its types resolve. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleClient } from '../../scripts/pack-client.ts';
import { payoutRequest } from '../support/requests.ts';
import { type Consumer, installClient } from './installed.ts';

let consumer: Consumer;
beforeAll(async () => {
  consumer = await installClient();
});
afterAll(() => consumer.remove());

test('contains no code of workers, workflows or the provider client, and needs none of their dependencies', async () => {
  const { modules } = await bundleClient(join(consumer.folder, 'bundled'));
  const folders = new Set(modules.map((file) => file.split('/')[0]));
  expect([...folders].sort()).toEqual([
    'client',
    'config',
    'contract',
    'domain',
    'encryption',
    'observability',
    'runtime',
    'temporal',
  ]);
  const code = modules.filter((file) => file.endsWith('.js'));
  expect(code.filter((file) => /service|cli\/|workers\/|token/.test(file))).toEqual([]);
  expect(consumer.files.filter((file) => file.endsWith('.js')).sort()).toEqual([
    'package/dist/failure-converter.js',
    'package/dist/index.js',
    'package/dist/nexus.js',
  ]);
  expect(Object.keys(consumer.dependencies)).toEqual(['nexus-rpc', 'zod']);
  expect(Object.keys(consumer.peerDependencies)).toEqual([
    '@temporalio/client',
    '@temporalio/common',
    '@temporalio/envconfig',
    '@temporalio/proto',
    '@temporalio/workflow',
  ]);
});

test('publint finds nothing to correct', async () => {
  const tarball = new Uint8Array(readFileSync(consumer.archive)).buffer;
  const { messages, pkg = {} } = await publint({ pack: { tarball }, strict: true });
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
});

test('arethetypeswrong: types resolve wherever ES modules do', async () => {
  const tarball = new Uint8Array(readFileSync(consumer.archive));
  const checked = await checkPackage(createPackageFromTarballData(tarball));
  if (!checked.types) throw new Error('the package has no types');
  expect(Object.keys(checked.entrypoints)).toEqual(['.', './nexus']);
  const problems = checked.problems.map(
    (problem) => `${problem.kind} ${'resolutionKind' in problem ? problem.resolutionKind : ''}`,
  );
  // The package has ES modules only, and `exports`, which the resolution before Node 12 does not read.
  expect([...new Set(problems)].sort()).toEqual(['CJSResolvesToESM node16-cjs', 'NoResolution node10']);
});

describe('in another project', () => {
  const start = (fields: object) => `import type { Payouts } from 'durable-payouts-client';
export const start = (payouts: Payouts) => payouts.start(${JSON.stringify(fields)});\n`;
  const complete = payoutRequest('order-1');

  test('a complete request compiles, also with the checks of declarations', async () => {
    expect(await consumer.typeErrors(start(complete))).toBe('');
  });

  test.each([
    ['a field is missing', { ...complete, clientId: undefined }, /'clientId'/],
    ['an amount is a number', { ...complete, instructedAmount: { currency: 'CNY', amount: 1 } }, /'number'/],
    ['a field is unknown', { ...complete, amount: '1' }, /"amount"' does not exist/],
  ])('a request does not compile if %s', async (_what, fields, message) => {
    expect(await consumer.typeErrors(start(fields))).toMatch(message);
  });
});
