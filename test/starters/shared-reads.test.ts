import { beforeEach, describe, expect, test } from 'vitest';
import { TooManyReadsError } from '../../src/client/errors.ts';
import { ReadSlots, SharedReads, unlimitedReads } from '../../src/client/shared-reads.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** Reads that are answered when the test says so. */
function questions() {
  const asked: { resolve: (answer: string) => void; reject: (error: Error) => void }[] = [];
  const ask = () => new Promise<string>((resolve, reject) => asked.push({ resolve, reject }));
  return { asked, ask };
}

let clock: FakeClock;
const soon = () => clock.advance(0);

beforeEach(() => {
  clock = new FakeClock();
});

describe('H62 status reads of one workflow', () => {
  test('concurrent readers share one query', async () => {
    const reads = new SharedReads<string>(unlimitedReads());
    const { asked, ask } = questions();
    const answers = Promise.all([reads.read('a', ask), reads.read('a', ask), reads.read('b', ask)]);
    expect(asked).toHaveLength(2);
    asked[0]?.resolve('A');
    asked[1]?.resolve('B');
    expect(await answers).toEqual(['A', 'A', 'B']);
  });

  test('a fresh answer is reused, a stale one is not', async () => {
    const reads = new SharedReads<string>({ ...unlimitedReads(), freshMs: 1_000, clock });
    const { asked, ask } = questions();
    const first = reads.read('a', ask);
    asked[0]?.resolve('old');
    expect(await first).toBe('old');
    await clock.advance(999);
    expect(await reads.read('a', ask)).toBe('old');
    await clock.advance(1);
    void reads.read('a', ask);
    expect(asked).toHaveLength(2);
  });

  test('without a freshness period, every answer is queried again', async () => {
    const reads = new SharedReads<string>(unlimitedReads());
    const { asked, ask } = questions();
    const first = reads.read('a', ask);
    asked[0]?.resolve('old');
    await first;
    await soon();
    void reads.read('a', ask);
    expect(asked).toHaveLength(2);
  });

  test('a failure reaches all readers that waited for it, and no later one', async () => {
    const reads = new SharedReads<string>({ ...unlimitedReads(), freshMs: 1_000, clock });
    const { asked, ask } = questions();
    const both = Promise.allSettled([reads.read('a', ask), reads.read('a', ask)]);
    asked[0]?.reject(new Error('no worker'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    void reads.read('a', ask);
    expect(asked).toHaveLength(2);
  });

  test('a read after a change shares neither a cached answer nor an earlier query', async () => {
    const reads = new SharedReads<string>({ ...unlimitedReads(), freshMs: 1_000, clock });
    const { asked, ask } = questions();
    const before = reads.read('a', ask);
    reads.forget('a');
    const after = reads.read('a', ask);
    asked[1]?.resolve('new');
    asked[0]?.resolve('old');
    expect([await before, await after, await reads.read('a', ask)]).toEqual(['old', 'new', 'new']);
    expect(asked).toHaveLength(2);
  });
});

describe('H62 status reads of all workflows', () => {
  const limits = { inFlight: 2, waiting: 2, waitMs: 5_000 };

  test('a limited number of queries runs at once; the others follow in order', async () => {
    const slots = new ReadSlots(limits, clock);
    const { asked, ask } = questions();
    const answers = ['first', 'second', 'third', 'fourth'].map(() => slots.run(ask));
    await soon();
    expect(asked).toHaveLength(2);
    asked[1]?.reject(new Error('no worker'));
    await expect(answers[1]).rejects.toThrow('no worker');
    await soon();
    expect(asked).toHaveLength(3);
    asked[2]?.resolve('3');
    expect(await answers[2]).toBe('3');
    await soon();
    expect(asked).toHaveLength(4);
    asked[0]?.resolve('1');
    asked[3]?.resolve('4');
    expect([await answers[0], await answers[3]]).toEqual(['1', '4']);
  });

  test('a read beyond the queue is rejected at once, and one that has waited too long later; neither queries', async () => {
    const slots = new ReadSlots(limits, clock);
    const { asked, ask } = questions();
    const waiting = [1, 2, 3, 4].map(() => slots.run(ask));
    const ends = Promise.allSettled(waiting);
    await expect(slots.run(ask)).rejects.toBeInstanceOf(TooManyReadsError);
    await clock.advance(5_000);
    await expect(waiting[2]).rejects.toBeInstanceOf(TooManyReadsError);
    for (const { resolve } of asked) resolve('late');
    expect((await ends).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    expect(asked).toHaveLength(2);
    void slots.run(ask);
    await soon();
    expect(asked).toHaveLength(3);
  });
});
