import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PaymentsSettingError } from '../../src/payments/errors.ts';
import type { NotificationInput } from '../../src/payments/notification.ts';
import { createNotificationVerifier } from '../../src/payments/notification.ts';

const NOW = 1_700_000_000_000;
const BODY = Buffer.from('{"order_id":"O-1","status":"SUCCESS"}');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PUBLIC = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();

const content = (rawBody: Buffer, timestamp: string, id = 'msg-1') =>
  Buffer.concat([Buffer.from(`${id}.${timestamp}.`), rawBody]);

function signed(key: string | Buffer, { rawBody = BODY, at = NOW } = {}): NotificationInput {
  const timestamp = String(at / 1000);
  const signature = createHmac('sha256', key).update(content(rawBody, timestamp)).digest('base64');
  return { rawBody, now: NOW, headers: headersOf(timestamp, `v1,${signature}`) };
}

function headersOf(timestamp: string, signature: string) {
  return { 'webhook-id': 'msg-1', 'webhook-timestamp': timestamp, 'webhook-signature': signature };
}

const verified = { result: 'verified' };
const rejected = { result: 'rejected', reason: expect.any(String) };

describe('H32 notifications are verified over the raw bytes', () => {
  test('H32 without a scheme, accepts every notification as an unverified hint', async () => {
    const verifier = await createNotificationVerifier('none', []);
    expect(await verifier.verify({ rawBody: BODY, headers: {}, now: NOW })).toEqual({
      result: 'unverified-accepted',
    });
  });

  test('H32 verifies the example of Standard Webhooks', async () => {
    // From the reference libraries of the Standard Webhooks specification.
    const verifier = await createNotificationVerifier('hmac-sha256', [
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    ]);
    const example = {
      rawBody: Buffer.from('{"test": 2432232314}'),
      now: 1_614_265_330_000,
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
    };
    expect(await verifier.verify(example)).toEqual(verified);
  });

  test('H32 accepts the old and the new secret during a rotation, and no other', async () => {
    const verifier = await createNotificationVerifier('hmac-sha256', ['new', 'old']);
    expect(await verifier.verify(signed('new'))).toEqual(verified);
    expect(await verifier.verify(signed('old'))).toEqual(verified);
    expect(await verifier.verify(signed('older'))).toEqual(rejected);
  });

  test('H32 one valid signature among several suffices, and unknown versions are skipped', async () => {
    const verifier = await createNotificationVerifier('hmac-sha256', ['key']);
    const input = signed('key');
    const good = String(input.headers['webhook-signature']);
    const many = (signature: string) => ({
      ...input,
      headers: { ...input.headers, 'webhook-signature': signature },
    });
    expect(await verifier.verify(many(`v2,abcd v1,AAAA ${good}`))).toEqual(verified);
    expect(await verifier.verify(many(good.replace('v1,', 'v2,')))).toEqual(rejected);
    expect(await verifier.verify(many(`${'v1,AAAA '.repeat(50)}${good}`))).toEqual(rejected);
  });

  test('H32 rejects any flipped bit of body, id, time or signature', async () => {
    const verifier = await createNotificationVerifier('hmac-sha256', ['key']);
    const input = signed('key');
    for (let bit = 0; bit < BODY.length * 8; bit++) {
      const rawBody = Buffer.from(BODY);
      rawBody.writeUInt8(rawBody.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(await verifier.verify({ ...input, rawBody })).toEqual(rejected);
    }
    const signature = Buffer.from(String(input.headers['webhook-signature']).slice(3), 'base64');
    for (let bit = 0; bit < signature.length * 8; bit++) {
      const flipped = Buffer.from(signature);
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const headers = { ...input.headers, 'webhook-signature': `v1,${flipped.toString('base64')}` };
      expect(await verifier.verify({ ...input, headers })).toEqual(rejected);
    }
    for (const change of [{ 'webhook-id': 'msg-2' }, { 'webhook-timestamp': '1700000001' }])
      expect(await verifier.verify({ ...input, headers: { ...input.headers, ...change } })).toEqual(rejected);
  });

  test.each([
    [-300_000, true],
    [300_000, true],
    [-301_000, false],
    [301_000, false],
  ])('H32 signed %i ms from now: verified is %s', async (offset, good) => {
    const verifier = await createNotificationVerifier('hmac-sha256', ['key']);
    expect((await verifier.verify(signed('key', { at: NOW + offset }))).result === 'verified').toBe(good);
  });

  test('H32 rejects missing, repeated and malformed headers', async () => {
    const verifier = await createNotificationVerifier('hmac-sha256', ['key']);
    const input = signed('key');
    for (const name of Object.keys(input.headers))
      for (const value of [undefined, '', ['a', 'b'], '\u0000', 'x'.repeat(5000)])
        expect(await verifier.verify({ ...input, headers: { ...input.headers, [name]: value } })).toEqual(
          rejected,
        );
    for (const time of ['1700000000.0', '1.7e9', '-1700000000', '0x6553f100', ' 1700000000'])
      expect(
        await verifier.verify({ ...input, headers: { ...input.headers, 'webhook-timestamp': time } }),
      ).toEqual(rejected);
  });

  test('H32 arbitrary headers never throw and never pass', async () => {
    const verifier = await createNotificationVerifier('hmac-sha256', ['key']);
    const property = async (id: string, time: string, signature: string) => {
      const headers = { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature };
      expect((await verifier.verify({ rawBody: BODY, headers, now: NOW })).result).toBe('rejected');
    };
    await fc.assert(fc.asyncProperty(fc.string(), fc.constantFrom('1700000000', 'x'), fc.string(), property));
  });

  test('H32 rsa-sha256 signs the same content', async () => {
    const verifier = await createNotificationVerifier('rsa-sha256', [PUBLIC]);
    const signature = createSign('sha256').update(content(BODY, '1700000000')).sign(rsa.privateKey, 'base64');
    const input = { rawBody: BODY, now: NOW, headers: headersOf('1700000000', `v1,${signature}`) };
    expect(await verifier.verify(input)).toEqual(verified);
    expect(await verifier.verify({ ...input, rawBody: Buffer.from('{}') })).toEqual(rejected);
    expect(await verifier.verify(signed('key'))).toEqual(rejected);
  });

  test('H32 a module decides, and a throwing module rejects', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'verifier-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const path = join(folder, 'verifier.mjs');
    await writeFile(
      path,
      `export default ({ secrets }) => ({ verify({ rawBody }) {
        if (rawBody.length === 0) throw new Error('empty');
        return { verified: rawBody.toString() === secrets[0] };
      } });`,
    );
    const verifier = await createNotificationVerifier(`module:${path}`, ['word']);
    const ask = (text: string) => verifier.verify({ rawBody: Buffer.from(text), headers: {}, now: NOW });
    expect(await ask('word')).toEqual(verified);
    expect(await ask('other')).toEqual(rejected);
    expect(await ask('')).toEqual(rejected);
  });

  test.each<[string, string[]]>([
    ['hmac-sha256', []],
    ['hmac-sha256', ['good', '']],
    ['hmac-sha256', ['whsec_']],
    ['rsa-sha256', ['no key']],
    ['sha1', ['key']],
  ])('H32 rejects the setting %s with %j at startup', async (setting, secrets) => {
    await expect(createNotificationVerifier(setting, secrets)).rejects.toThrow(PaymentsSettingError);
  });
});
