import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { CancelledFailure, defaultPayloadConverter, type Payload } from '@temporalio/common';
import proto from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { isEncrypted, isRefused, withOrigin } from '../../src/domain/payload-origin.ts';
import { failureConverter } from '../../src/encryption/failure-converter.ts';
import { KeyRing, UnknownKeyError } from '../../src/encryption/key-ring.ts';
import { EncryptionCodec, PlainPayloadError, WorkerCodec } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';

const { Payload: PayloadProto } = proto.temporal.api.common.v1;
const [OLD, NEW] = [randomBytes(32), randomBytes(32)];
const codec = (...keys: [string, Buffer][]) =>
  new EncryptionCodec(new KeyRing(new Map(keys)), PROCESS_RUNTIME.random);
const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString();
const json = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);

async function only(payloads: Promise<Payload[]>): Promise<Payload> {
  const [payload] = await payloads;
  if (!payload) throw new Error('no payload');
  return payload;
}

/** What Temporal's samples do in every language, reimplemented from their description. */
function sampleDecrypt(sealed: Uint8Array, key: Buffer): Uint8Array {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
}

function sampleEncrypt(payload: Payload, key: Buffer, keyId: string): Payload {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const plain = PayloadProto.encode(PayloadProto.fromObject(payload)).finish();
  const data = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  return {
    metadata: { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from(keyId) },
    data,
  };
}

test('nonces come from the injected randomness alone, so that simulations are reproducible', async () => {
  const ring = new KeyRing(new Map([['k1', OLD]]));
  const bytes = (first: number) => ({
    ...PROCESS_RUNTIME.random,
    bytes: (n: number) => Buffer.alloc(n, first),
  });
  const sealed = async (first: number) =>
    text((await only(new EncryptionCodec(ring, bytes(first)).encode([json('the same')]))).data);
  expect(await sealed(1)).toBe(await sealed(1));
  expect(await sealed(1)).not.toBe(await sealed(2));
});

describe("payloads are encrypted as in Temporal's samples", () => {
  test('a sample decrypts what we encrypt: encoding, key id, and nonce, ciphertext, tag of the whole payload', async () => {
    const payload = json({ amount: '9999999999999999.99' });
    const sealed = await only(codec(['k1', OLD]).encode([payload]));
    expect(Object.keys(sealed.metadata ?? {}).sort()).toEqual(['encoding', 'encryption-key-id']);
    expect(text(sealed.metadata?.['encoding'])).toBe('binary/encrypted');
    expect(text(sealed.metadata?.['encryption-key-id'])).toBe('k1');
    const plain = PayloadProto.decode(sampleDecrypt(sealed.data ?? new Uint8Array(), OLD));
    expect(text(plain.data)).toBe(text(payload.data));
    expect(text(plain.metadata['encoding'])).toBe('json/plain');
  });

  test('we decrypt what a sample encrypts', async () => {
    const opened = await only(codec(['k1', OLD]).decode([sampleEncrypt(json({ a: 1 }), OLD, 'k1')]));
    expect(defaultPayloadConverter.fromPayload(opened)).toEqual({ a: 1 });
  });

  test('encrypts the same payload to two different ciphertexts', async () => {
    const [one, two] = await codec(['k1', OLD]).encode([json('x'), json('x')]);
    expect(text(one?.data)).not.toBe(text(two?.data));
  });

  test('round-trips payloads without data, of undefined, and of bytes', async () => {
    for (const payload of [json(undefined), json(randomBytes(2_000)), json(''), json(null)]) {
      const there = codec(['k1', OLD]);
      const back = await only(there.decode(await there.encode([payload])));
      expect(text(back.data)).toBe(text(payload.data));
      expect(text(back.metadata?.['encoding'])).toBe(text(payload.metadata?.['encoding']));
    }
  });
});

describe('keys and foreign payloads', () => {
  test('H50 encrypts with the first key, decrypts with all', async () => {
    const old = await only(codec(['k1', OLD]).encode([json('kept')]));
    const rotated = codec(['k2', NEW], ['k1', OLD]);
    expect(defaultPayloadConverter.fromPayload(await only(rotated.decode([old])))).toBe('kept');
    const fresh = await only(rotated.encode([json('new')]));
    expect(text(fresh.metadata?.['encryption-key-id'])).toBe('k2');
  });

  test('H35 throws for a key that it does not hold, because the key may be added later', async () => {
    const sealed = await codec(['k1', OLD]).encode([json('kept')]);
    await expect(codec(['k2', NEW]).decode(sealed)).rejects.toThrow(UnknownKeyError);
  });

  test('passes plain payloads, because callers and the UI may write them', async () => {
    const payload = json({ by: 'olga' });
    expect(await codec(['k1', OLD]).decode([payload])).toEqual([payload]);
  });

  test.each([
    ['changed', (data: Uint8Array) => data.map((byte, at) => (at === 20 ? byte ^ 1 : byte))],
    ['cut short', (data: Uint8Array) => data.subarray(0, 20)],
    ['empty', () => new Uint8Array()],
  ])('H35 passes what a held key cannot decrypt (%s) unchanged', async (_how, corrupt) => {
    const sealed = await only(codec(['k1', OLD]).encode([json('kept')]));
    const corrupted = { ...sealed, data: corrupt(sealed.data ?? new Uint8Array()) };
    expect(await codec(['k1', OLD]).decode([corrupted])).toEqual([corrupted]);
  });

  test.each(['0e', '00', '8080808010', 'b3001c', 'ca00808080800f', '0a05'])(
    'H35 passes decrypted bytes that are not a payload (%s) unchanged',
    async (hex) => {
      const ring = new KeyRing(new Map([['k1', OLD]]));
      const { metadata = null } = await only(codec(['k1', OLD]).encode([json('kept')]));
      const data = ring.encrypt(Buffer.from(hex, 'hex'), PROCESS_RUNTIME.random);
      expect(await codec(['k1', OLD]).decode([{ metadata, data }])).toEqual([{ metadata, data }]);
    },
  );
});

describe('H279 the codec of a worker', () => {
  const ring = new KeyRing(new Map([['k1', OLD]]));
  const worker = (plain: 'refuse' | 'accept') => new WorkerCodec(ring, PROCESS_RUNTIME.random, plain);
  const activity = {
    type: 'activity',
    namespace: 'default',
    isLocal: false,
    workflowId: 'payout:default:a',
  } as const;
  const sealed = () => codec(['k1', OLD]).encode([json('kept')]);

  test('refuses plain arguments and results of activities, unless it accepts plain payloads', async () => {
    await expect(worker('refuse').decode([json('x')], activity)).rejects.toThrow(PlainPayloadError);
    const accepted = await only(worker('accept').decode([json('x')], activity));
    expect([isEncrypted(accepted), isRefused(accepted)]).toEqual([false, false]);
    const known = await only(worker('refuse').decode(await sealed(), activity));
    expect([defaultPayloadConverter.fromPayload(known), isEncrypted(known)]).toEqual(['kept', true]);
  });

  test('H366 lets the cancellation of an activity pass that no worker ran, but not as a result', async () => {
    const ofServer = await only(worker('refuse').decode([json('ACTIVITY_ID_NOT_STARTED')], activity));
    expect(() => defaultPayloadConverter.fromPayload(ofServer)).toThrow('Unknown encoding');
    const failure = { message: 'canceled', canceledFailureInfo: { details: { payloads: [ofServer] } } };
    const error = failureConverter.failureToError(failure, defaultPayloadConverter);
    expect(error).toBeInstanceOf(CancelledFailure);
    expect(error).toMatchObject({ message: 'canceled', details: [] });
  });

  test('H326 refuses what was encrypted for another workflow', async () => {
    const here = (workflowId: string) => ({ type: 'workflow', namespace: 'default', workflowId }) as const;
    const named = await codec(['k1', OLD]).encode([json('kept')], here('payout:default:a'));
    const own = await only(worker('refuse').decode(named, here('payout:default:a')));
    expect([isEncrypted(own), isRefused(own)]).toEqual([true, false]);
    for (const plain of ['refuse', 'accept'] as const) {
      const moved = await only(worker(plain).decode(named, here('payout:default:b')));
      expect([isEncrypted(moved), isRefused(moved)]).toEqual([false, plain === 'refuse']);
    }
    const { workflowId: _none, ...stray } = activity;
    for (const context of [{ ...activity, workflowId: 'payout:default:b' }, stray])
      await expect(worker('refuse').decode(named, context)).rejects.toThrow(PlainPayloadError);
    const scheduled = await codec(['k1', OLD]).encode([json('kept')], here('payout-report:test'));
    const run = await only(
      worker('refuse').decode(scheduled, here('payout-report:test-2026-11-28T00:10:00Z')),
    );
    expect(isEncrypted(run)).toBe(true);
  });

  test('H336 refuses what was encrypted for another activity, or for its workflow', async () => {
    const { workflowId, namespace } = activity;
    const [its, fifth] = [
      { type: 'workflow', namespace, workflowId } as const,
      { ...activity, activityId: '5' },
    ];
    const result = await codec(['k1', OLD]).encode([json('kept')], fifth);
    expect(isEncrypted(await only(worker('refuse').decode(result, fifth)))).toBe(true);
    expect(isRefused(await only(worker('refuse').decode(result, its)))).toBe(true);
    const argument = await codec(['k1', OLD]).encode([json('kept')], its);
    for (const [payloads, context] of [
      [result, { ...activity, activityId: '6' }],
      [argument, fifth],
    ] as const)
      await expect(worker('refuse').decode(payloads, context)).rejects.toThrow(PlainPayloadError);
  });

  test('believes no mark of a sender', async () => {
    const forged = withOrigin(json('x'), 'encrypted');
    for (const plain of ['refuse', 'accept'] as const) {
      const got = await only(worker(plain).decode([forged]));
      expect([isEncrypted(got), isRefused(got)]).toEqual([false, plain === 'refuse']);
    }
  });

  test('marks what a held key cannot decrypt as neither: the key with its id may be wrong', async () => {
    const [one] = await codec(['k1', NEW]).encode([json('kept')]);
    const got = await only(worker('refuse').decode(one ? [one] : []));
    expect([isEncrypted(got), isRefused(got)]).toEqual([false, false]);
  });
});
