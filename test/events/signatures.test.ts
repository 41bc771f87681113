import { generateKeyPairSync, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { readSigningKey, type SigningKey, signedHeaders } from '../../src/webhooks/sign-event.ts';
import { hmacSecret } from '../support/event-endpoint.ts';

const EVENT = { id: 'evt_1', body: '{"type":"payout.completed"}' };

function keyOf(secret: string): SigningKey {
  const key = readSigningKey(secret);
  if ('problem' in key) throw new Error(key.problem);
  return key;
}

function ed25519() {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32);
  const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  return { publicKey, seed, point };
}

describe('H171 an event is signed, so that nobody else can send one', () => {
  const atMs = Date.now();

  test('HMAC-SHA256, verified by the package standardwebhooks', () => {
    const secret = hmacSecret();
    const headers = signedHeaders([keyOf(secret)], { ...EVENT, atMs });
    expect(new Webhook(secret).verify(EVENT.body, headers)).toEqual({ type: 'payout.completed' });
    expect(() => new Webhook(secret).verify(`${EVENT.body} `, headers)).toThrow('No matching signature');
    expect(() => new Webhook(secret).verify(EVENT.body, { ...headers, 'webhook-id': 'evt_2' })).toThrow();
  });

  test('while a secret is replaced, the receiver may have either', () => {
    const secrets = [hmacSecret(), hmacSecret()];
    const headers = signedHeaders(secrets.map(keyOf), { ...EVENT, atMs });
    for (const secret of secrets) expect(new Webhook(secret).verify(EVENT.body, headers)).toBeTruthy();
    expect(() => new Webhook(hmacSecret()).verify(EVENT.body, headers)).toThrow('No matching signature');
  });

  test.each(['seed', 'seed and public key'])('Ed25519 with the %s', (form) => {
    const { publicKey, seed, point } = ed25519();
    const bytes = form === 'seed' ? seed : Buffer.concat([seed, point]);
    const headers = signedHeaders([keyOf(`whsk_${bytes.toString('base64')}`)], { ...EVENT, atMs });
    const [version, signature = ''] = (headers['webhook-signature'] ?? '').split(',');
    const content = Buffer.from(`evt_1.${headers['webhook-timestamp']}.${EVENT.body}`);
    expect(version).toBe('v1a');
    expect(verify(null, content, publicKey, Buffer.from(signature, 'base64'))).toBe(true);
    expect(verify(null, Buffer.from('x'), publicKey, Buffer.from(signature, 'base64'))).toBe(false);
  });

  test('a receiver with an HMAC secret ignores the signature of the other kind', () => {
    const secret = hmacSecret();
    const keys = [keyOf(`whsk_${ed25519().seed.toString('base64')}`), keyOf(secret)];
    expect(new Webhook(secret).verify(EVENT.body, signedHeaders(keys, { ...EVENT, atMs }))).toBeTruthy();
  });

  test.each([
    ['a secret without a prefix', 'must begin with whsec_ or whsk_'],
    ['whsec_c2hvcnQ=', 'must be whsec_ and 24 to 64 bytes in base64'],
    ['whsec_not base64!', 'must be whsec_'],
    [`whsk_${Buffer.alloc(31).toString('base64')}`, 'must be whsk_'],
    [`whsk_${Buffer.concat([ed25519().seed, ed25519().point]).toString('base64')}`, 'must be whsk_'],
  ])('refuses secret %#', (secret, problem) => {
    const key = readSigningKey(secret);
    expect('problem' in key && key.problem).toContain(problem);
    expect(JSON.stringify(key)).not.toContain(secret.slice(6, 20));
  });
});
