/** AES-GCM with random nonces wears a key out: it's counted, and `doctor` asks for a rotation in time. */
import { describe, expect, test } from 'vitest';
import { KeyRing } from '../../src/encryption/key-ring.ts';
import { EncryptionCodec } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { checkKeyAge } from '../../src/starters/cli/doctor/key-age.ts';

describe('H283 a key wears out', () => {
  const NOW = Date.parse('2026-07-01T12:00:00Z');

  test.each([
    ['k-2026-07-01', 'ok', 'is 0 days old'],
    ['2026-01-02', 'ok', 'is 180 days old'],
    ['k-2026-01-01', 'problem', 'is 181 days old'],
    ['k-2025-06-30_b', 'problem', 'is 366 days old'],
    // East of this clock, the day has begun.
    ['k-2026-07-02', 'ok', 'is 0 days old'],
    ['k-2062-01-01', 'unknown', 'carries no day'],
    ['k-2026-13-01', 'unknown', 'carries no day'],
    ['k1', 'unknown', 'carries no day'],
  ])('doctor about the key %s: %s', (keyId, verdict, detail) => {
    expect(checkKeyAge(keyId, NOW)).toMatchObject({ verdict, detail: expect.stringContaining(detail) });
  });

  test('each payload that is encrypted counts, under the key that encrypts', async () => {
    const keys = new Map(['new', 'old'].map((id) => [id, PROCESS_RUNTIME.random.bytes(32)]));
    const ring = new KeyRing(new Map([...keys].map(([id, key]) => [id, Buffer.from(key)])));
    const counted: string[] = [];
    ring.onEncrypt = (key) => counted.push(key);
    const codec = new EncryptionCodec(ring, PROCESS_RUNTIME.random);
    const encrypted = await codec.encode([{ data: Buffer.from('1') }, { data: Buffer.from('2') }]);
    await codec.decode(encrypted);
    expect(counted).toEqual(['new', 'new']);
  });
});
