import { describe, expect, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import { newKey } from '../support/keys.ts';
import { CANARIES, type Canary, hitsIn } from './canaries.ts';
import { ALL_FAULTS, FEW_FAULTS, plant } from './plant.ts';
import { postgresTemporal } from './postgres-temporal.ts';
import { canaryStage } from './stage.ts';
import { sqliteTemporal } from './temporal.ts';

const MINUTES = 60_000;
/**
 * Encrypted or not: secrets exist only in the environment of the processes and in requests to the provider, and notifications
 * that fail verification are not stored.
 */
const NEVER_WRITTEN: Canary[] = ['appSecret', 'signingKey', 'notificationSecret', 'notificationBody'];
const WRITTEN = Object.keys(CANARIES)
  .filter((name) => !NEVER_WRITTEN.some((never) => never === name))
  .sort();

/**
 * `CANARY_DATABASE=postgres npx vitest run test/canary` searches the rows of a PostgreSQL database instead of the SQLite file.
 */
const startTemporal = process.env['CANARY_DATABASE'] === 'postgres' ? postgresTemporal : sqliteTemporal;
const STORED = /^(temporal\.db|postgres )/;

async function search(keys: Record<string, string>, faults: FaultInput[]) {
  const stage = await canaryStage(keys, await startTemporal());
  try {
    await plant(stage, faults);
    const places = await stage.everything();
    // An empty log would hide a broken search.
    const empty = [...places].filter(([place, bytes]) => !STORED.test(place) && bytes.length === 0);
    expect(empty.map(([place]) => place)).toEqual([]);
    expect([...places.keys()].some((place) => STORED.test(place))).toBe(true);
    expect(placesOf(keys, places)).toEqual([]);
    return hitsIn(places);
  } finally {
    await stage.stop();
  }
}

/** Where a key is written: as in the environment, as it is kept in memory, or as JSON writes such bytes. */
function placesOf(keys: Record<string, string>, places: ReadonlyMap<string, Buffer>): string[] {
  const raw = Object.values(keys).map((key) => key.slice(key.indexOf(':') + 1));
  const spellings = raw.flatMap((text) => {
    const bytes = Buffer.from(text, 'base64');
    return [text, bytes.toString('hex'), [...bytes].join(','), [...bytes].join(', ')];
  });
  return [...places].flatMap(([place, content]) =>
    spellings.some((spelling) => content.includes(spelling)) ? [place] : [],
  );
}

describe.concurrent('H45 H46 secrets and personal data, with every fault that produces an error message', () => {
  test('with encryption: absent from histories, search attributes, memos, ids, debug logs, metrics, responses and the database', {
    timeout: 15 * MINUTES,
  }, async () => {
    const keys = {
      ...{ PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_TOKEN_KEYS: newKey('t1') },
      PAYOUTS_AUTHORIZATION_KEYS: newKey('a1'),
    };
    expect(await search(keys, ALL_FAULTS)).toEqual([]);
  });

  test('without encryption: the same search finds them in histories and in the database, and nowhere else', {
    timeout: 15 * MINUTES,
  }, async () => {
    const hits = await search({}, FEW_FAULTS);
    const found = (places: RegExp) =>
      [...new Set(hits.filter(({ place }) => places.test(place)).map(({ canary }) => canary))].sort();
    console.log(`planted without encryption: ${hits.reduce((sum, hit) => sum + hit.hits, 0)} hits`);
    expect(found(/^histories$/)).toEqual(WRITTEN);
    expect(found(STORED)).toEqual(WRITTEN);
    const elsewhere = hits.filter(
      ({ place }) => !STORED.test(place) && !/^(histories|descriptions)/.test(place),
    );
    expect(elsewhere).toEqual([]);
  });
});
