import { expect, test } from 'vitest';
import { writeGuard } from '../../src/payments/http-transport.ts';
import { errorWithCode, runAttempt } from '../../src/payments/transport.ts';
import { FakeClock } from '../support/fake-clock.ts';

test('H11 a second write of a request by undici is cut off', async () => {
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
  const timeouts = { connectMs: 1, headersMs: 1, bodyMs: 1, totalMs: 1 };
  const request = { method: 'POST', path: '/', headers: {} } as const;
  await runAttempt(request, { clock: new FakeClock(), timeouts }, async (attempt) => {
    const guard = writeGuard(handler, attempt);
    guard.onRequestStart?.(controller, {});
    guard.onRequestStart?.(controller, {});
    throw errorWithCode('TRIED_TWICE');
  });
  expect(calls).toEqual(['written', 'cut off']);
});
