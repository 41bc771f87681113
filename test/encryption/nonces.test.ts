/** AES-GCM loses its security when a key uses a nonce twice. */

import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeyRing } from '../../src/encryption/key-ring.ts';
import { EncryptionCodec } from '../../src/encryption/payload-codec.ts';
import { TokenSeal } from '../../src/encryption/token-seal.ts';
import { PROCESS_SURROUNDINGS } from '../../src/surroundings/process.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';

const NONCE_BYTES = 12;
const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString();
const nonceOf = (sealed: Uint8Array) => Buffer.from(sealed.subarray(0, NONCE_BYTES)).toString('hex');

describe('H46 no nonce is used twice', () => {
  test('by the codec, in one process and in several with the same key', async () => {
    const key = randomBytes(32);
    const process = () =>
      new EncryptionCodec(new KeyRing(new Map([['k1', key]])), PROCESS_SURROUNDINGS.random);
    const payload = defaultPayloadConverter.toPayload('the same');
    const sealed = await Promise.all(
      [process(), process()].map((codec) => codec.encode(Array.from({ length: 5_000 }, () => payload))),
    );
    const nonces = sealed.flat().map(({ data }) => nonceOf(data ?? new Uint8Array()));
    expect(new Set(nonces).size).toBe(10_000);
  });

  test('by the token seal', () => {
    const seal = new TokenSeal(new KeyRing(new Map([['t1', randomBytes(32)]])), PROCESS_SURROUNDINGS.random);
    const owner = { environment: 'test', app: 'default' };
    const sealed = Array.from({ length: 1_000 }, () =>
      seal.seal('the same', owner, 'access').split('.').at(-1),
    );
    const nonces = sealed.map((data) => nonceOf(Buffer.from(data ?? '', 'base64')));
    expect(new Set(nonces).size).toBe(1_000);
  });

  describe('by everything that writes the history of a payout', () => {
    let world: PayoutWorld;
    beforeAll(async () => {
      world = await PayoutWorld.start({ env: { PAYOUTS_ENCRYPTION_KEYS: newKey('k1') } });
    });
    afterAll(() => world.stop());

    test('client and worker, for arguments, results and memos of two payouts', async () => {
      const refs = [await world.pay('success'), await world.pay('success')];
      const nonces: string[] = [];
      for (const ref of refs) {
        await world.payouts.result(ref);
        nonces.push(...noncesIn(await world.history(ref)));
      }
      expect(nonces.length).toBeGreaterThan(10);
      expect(new Set(nonces).size).toBe(nonces.length);
    });
  });
});

/** The nonces of all encrypted payloads in `value`; a payload that the server repeats in another history event counts once. */
function noncesIn(value: unknown, found: string[] = []): string[] {
  const seen = new Set<string>();
  collect(value, (data) => seen.add(Buffer.from(data).toString('base64')));
  for (const data of seen) found.push(nonceOf(Buffer.from(data, 'base64')));
  return found;
}

function collect(value: unknown, told: (data: Uint8Array) => void): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if ('metadata' in value && 'data' in value && value.data instanceof Uint8Array) {
    const { metadata } = value;
    const isRecord = typeof metadata === 'object' && metadata !== null && 'encoding' in metadata;
    if (isRecord && metadata.encoding instanceof Uint8Array && text(metadata.encoding) === 'binary/encrypted')
      told(value.data);
  }
  for (const part of Object.values(value)) collect(part, told);
}
