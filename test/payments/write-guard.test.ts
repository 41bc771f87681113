import { expect, test } from 'vitest';
import { WriteGuard } from '../../src/payments/write-guard.ts';

test('H11 if undici ever writes a request again, the second time is cut off', () => {
  const calls: string[] = [];
  const handler = { onRequestStart: () => void calls.push('written') };
  const controller = {
    abort: () => void calls.push('cut off'),
    pause: () => undefined,
    resume: () => undefined,
    aborted: false,
    paused: false,
    reason: null,
  };
  const givenUp = new AbortController().signal;
  const attempt = {
    written: false,
    late: false,
    shut: false,
    mayWrite: () => true,
    caller: undefined,
    deadline: undefined,
    givenUp,
  };
  const guard = new WriteGuard(handler, attempt);
  guard.onRequestStart(controller, {});
  guard.onRequestStart(controller, {});
  expect(calls).toEqual(['written', 'cut off']);
});
