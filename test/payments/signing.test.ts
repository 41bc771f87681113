import { createHmac, createVerify, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PaymentsSettingError } from '../../src/payments/errors.ts';
import { createSigner, type RequestSigner } from '../../src/payments/signing.ts';
import { clientFor, failureOf } from './support/client.ts';
import { callOf, successBody } from './support/samples.ts';
import { answers, type SeenRequest, startServer } from './support/server.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

async function signedTrade(signer: RequestSigner): Promise<SeenRequest> {
  const server = await startServer(answers(200, successBody('tradeResult')));
  await callOf(clientFor(server.origin, { signer }), 'tradeResult');
  const [request] = server.seen;
  if (!request) throw new Error('nothing was sent');
  return request;
}

const contentOf = ({ method, url, headers, body }: SeenRequest) =>
  `${method}\n${url}\n${headers['x-timestamp']}\n${body}`;

async function moduleWith(source: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'signer-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'signer.mjs');
  await writeFile(path, source);
  return `module:${path}`;
}

describe('trade requests are signed as configured', () => {
  test('none adds no header', async () => {
    const { headers } = await signedTrade(await createSigner('none'));
    expect([headers['x-signature'], headers['x-timestamp']]).toEqual([undefined, undefined]);
  });

  test('hmac-sha256 signs the exact bytes of the request', async () => {
    const request = await signedTrade(await createSigner('hmac-sha256', 'key'));
    const expected = createHmac('sha256', 'key').update(contentOf(request)).digest('base64');
    expect(request.headers['x-signature']).toBe(expected);
  });

  test('rsa-sha256 verifies with the public key', async () => {
    const request = await signedTrade(await createSigner('rsa-sha256', PEM));
    const signature = Buffer.from(String(request.headers['x-signature']), 'base64');
    const verify = createVerify('sha256').update(contentOf(request));
    expect(verify.verify(rsa.publicKey, signature)).toBe(true);
  });

  test('a module signs by its own rules, with the configured key', async () => {
    const source =
      'export default ({ key }) => ({ mark: key, sign({ path }) { return { "x-own": this.mark + path }; } });';
    const { headers } = await signedTrade(await createSigner(await moduleWith(source), 'k:'));
    expect(headers['x-own']).toBe('k:/v1/mid-open-api/trade/payout/queryResult');
  });

  test('only the trade endpoints are signed', async () => {
    const server = await startServer(answers(200, successBody('createPayout')));
    const signer = await createSigner('hmac-sha256', 'key');
    await callOf(clientFor(server.origin, { signer }), 'createPayout');
    expect(server.seen[0]?.headers['x-signature']).toBeUndefined();
  });

  test.each([
    'return { authorization: "x" }',
    'return { Host: "evil.example" }',
    'return { "content-length": "0" }',
    'return { "x-a": "b\\r\\nc: d" }',
    'return { "x-a": 7 }',
    'return null',
    'throw new Error("no")',
  ])('sends nothing when a module would %s', async (body) => {
    const signer = await createSigner(await moduleWith(`export default () => ({ sign() { ${body} } });`));
    const server = await startServer(answers(200, successBody('tradeResult')));
    const error = await failureOf(callOf(clientFor(server.origin, { signer }), 'tradeResult'));
    expect(error).toMatchObject({ code: 'NOT_SENT', reason: 'signer' });
    expect(server.seen).toHaveLength(0);
  });

  test.each([
    ['other', undefined],
    ['hmac-sha256', undefined],
    ['hmac-sha256', ''],
    ['rsa-sha256', 'CANARY no key'],
    [
      'rsa-sha256',
      generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ],
    ['module:./no/such/file.mjs', undefined],
  ])('rejects the setting %s with an unsuitable key at startup', async (setting, key) => {
    const problem = await createSigner(setting, key).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(PaymentsSettingError);
    expect(String(problem)).not.toMatch(/CANARY|BEGIN/);
  });

  test.each([
    'export default 7;',
    'export const x = 1;',
    'export default () => ({});',
    'export default () => null;',
  ])('rejects an invalid signer module (%s) at startup', async (source) => {
    await expect(createSigner(await moduleWith(source))).rejects.toThrow(PaymentsSettingError);
  });
});
