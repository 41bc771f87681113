import { expect, test } from 'vitest';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { CallerTurns } from '../../src/service/caller-turns.ts';

test('H295 a caller who disconnects leaves the queue: the next call gets the turn', async () => {
  const turns = new CallerTurns({ inFlight: 1, waitMs: 60_000, refusal: 'too many' }, PROCESS_RUNTIME.clock);
  let finish = () => {};
  const first = turns.run('one', () => new Promise<void>((resolve) => (finish = resolve)));
  const gone = new AbortController();
  let hasRun = false;
  const run = async () => {
    hasRun = true;
  };
  const second = turns.run('one', run, gone.signal);
  const third = turns.run('one', async () => 'third');
  gone.abort(new Error('gone'));
  await expect(second).rejects.toThrow('gone');
  await expect(turns.run('two', async () => undefined, gone.signal)).rejects.toThrow('gone');
  finish();
  await first;
  expect([await third, hasRun]).toEqual(['third', false]);
});
