/** The simulation remembers what it encrypted, so this needs the real codec of the SDK. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';

const NONCE_BYTES = 12;
const text = (bytes: Uint8Array | null | undefined) => Buffer.from(bytes ?? []).toString();
const nonceOf = (sealed: Uint8Array) => Buffer.from(sealed.subarray(0, NONCE_BYTES)).toString('hex');

describe('H46 no nonce is used twice by everything that writes the history of a payout', () => {
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
