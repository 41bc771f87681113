/** The desk doesn't keep a browser waiting while many events are sent again. */
import { expect, test } from 'vitest';
import { Resends } from '../../src/desk/resends.ts';
import { sleep } from '../../src/runtime/runtime.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('tells that it runs, and later how it ended', async () => {
  const clock = new FakeClock();
  const resends = new Resends(clock);
  const begun = resends.begin('books', () => sleep(clock, 10_000).then(() => ({ events: 370 })));
  await clock.advance(2_000);
  expect(await begun).toEqual({ kind: 'running' });
  // It isn't begun twice.
  expect(await resends.begin('books', () => Promise.resolve({ events: 1 }))).toEqual({ kind: 'running' });
  await clock.advance(10_000);
  expect(resends.of('books')).toEqual({ kind: 'sent', events: 370 });
  expect(resends.of('other')).toBeUndefined();
});

test('throws an error that comes at once, and keeps one that comes later', async () => {
  const clock = new FakeClock();
  const resends = new Resends(clock);
  const fails = () => Promise.reject(new Error('no worker'));
  await expect(resends.begin('books', fails)).rejects.toThrow('no worker');
  const begun = resends.begin('books', () => sleep(clock, 10_000).then(fails));
  await clock.advance(2_000);
  expect(await begun).toEqual({ kind: 'running' });
  await clock.advance(10_000);
  expect(resends.of('books')).toEqual({ kind: 'failed' });
});
