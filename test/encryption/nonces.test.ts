/** AES-GCM loses its security when a key uses a nonce twice. */

import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { KeyRing, TokenSeal } from '../../src/encryption/key-ring.ts';
import { EncryptionCodec } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';

const NONCE_BYTES = 12;
const nonceOf = (sealed: Uint8Array) => Buffer.from(sealed.subarray(0, NONCE_BYTES)).toString('hex');

describe('H46 no nonce is used twice', () => {
  test('by the codec, in one process and in several with the same key', async () => {
    const key = randomBytes(32);
    const process = () => new EncryptionCodec(new KeyRing(new Map([['k1', key]])), PROCESS_RUNTIME.random);
    const payload = defaultPayloadConverter.toPayload('the same');
    const sealed = await Promise.all(
      [process(), process()].map((codec) => codec.encode(Array.from({ length: 5_000 }, () => payload))),
    );
    const nonces = sealed.flat().map(({ data }) => nonceOf(data ?? new Uint8Array()));
    expect(new Set(nonces).size).toBe(10_000);
  });

  test('by the token seal', () => {
    const seal = new TokenSeal(new KeyRing(new Map([['t1', randomBytes(32)]])), PROCESS_RUNTIME.random);
    const owner = { environment: 'test', app: 'default' };
    const sealed = Array.from({ length: 1_000 }, () =>
      seal.seal('the same', owner, 'access').split('.').at(-1),
    );
    const nonces = sealed.map((data) => nonceOf(Buffer.from(data ?? '', 'base64')));
    expect(new Set(nonces).size).toBe(1_000);
  });
});
