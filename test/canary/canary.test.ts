import { describe, expect, test } from 'vitest';
import { newKey } from '../support/keys.ts';
import { CANARIES, type Canary, hitsIn } from './canaries.ts';
import { plant } from './plant.ts';
import { canaryStage } from './stage.ts';

const MINUTES = 60_000;
/**
 * Encrypted or not: secrets live in the processes' environment and in requests to the service only, and what
 * does not pass verification is not kept.
 */
const NEVER_WRITTEN: Canary[] = ['appSecret', 'signingKey', 'notificationSecret', 'notificationBody'];

async function search(keys: Record<string, string>) {
  const stage = await canaryStage(keys);
  try {
    await plant(stage);
    const places = await stage.everything();
    for (const [place, bytes] of places)
      expect({ place, bytes: bytes.length > 0 }).toEqual({ place, bytes: true });
    return hitsIn(places);
  } finally {
    await stage.stop();
  }
}

describe('H45 H46 secrets and personal data, with every fault that makes an error message', () => {
  test('encrypted: nowhere in histories, attributes, memos, ids, logs at debug level, metrics, answers or the database file', {
    timeout: 5 * MINUTES,
  }, async () => {
    const hits = await search({ PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_TOKEN_KEYS: newKey('t1') });
    expect(hits).toEqual([]);
  });

  test('not encrypted: the same search finds them in histories and in the file, and still nowhere else', {
    timeout: 5 * MINUTES,
  }, async () => {
    const hits = await search({});
    const found = (place: string) => hits.filter((hit) => hit.place === place).map(({ canary }) => canary);
    const written = Object.keys(CANARIES).filter((name) => !NEVER_WRITTEN.some((never) => never === name));
    console.log(`planted without encryption: ${hits.reduce((sum, hit) => sum + hit.hits, 0)} hits`);
    expect(found('histories').sort()).toEqual(written.sort());
    expect(found('temporal.db').sort()).toEqual(written.sort());
    expect(hits.filter(({ place }) => !/^(histories|temporal\.db|descriptions)/.test(place))).toEqual([]);
  });
});
