import { expect, test } from 'vitest';
import { Shares } from '../../src/service/shares.ts';

function held(shares: Shares, caller: string): () => Promise<void> {
  let release = () => {};
  const until = new Promise<void>((resolve) => {
    release = resolve;
  });
  const call = shares.run(caller, () => until);
  return async () => {
    release();
    await call;
  };
}

async function placesOf(shares: Shares, caller: string): Promise<(() => Promise<void>)[]> {
  const places: (() => Promise<void>)[] = [];
  while (await isFree(shares, caller)) places.push(held(shares, caller));
  return places;
}

const isFree = (shares: Shares, caller: string) =>
  shares
    .run(caller, async () => true)
    .catch((error: unknown) => {
      expect(error).toMatchObject({ kind: 'too-many-waiting', retryAfterSeconds: expect.any(Number) });
      return false;
    });

test('a caller takes half of what is free, and each further one finds a place', async () => {
  const shares = new Shares(100, 'full');
  const first = await placesOf(shares, 'first');
  const second = await placesOf(shares, 'second');
  const third = await placesOf(shares, 'third');
  expect([first, second, third].map(({ length }) => length)).toEqual([50, 25, 13]);
  await Promise.all([...first, ...second, ...third].map((release) => release()));
  expect(await placesOf(shares, 'fourth')).toHaveLength(50);
});

test('a call that fails gives its place back', async () => {
  const shares = new Shares(2, 'full');
  await expect(shares.run('one', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await placesOf(shares, 'one')).toHaveLength(1);
});
