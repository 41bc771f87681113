import { ApplicationFailure } from '@temporalio/activity';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OpenResult } from '../../src/activities/receiving-account/receiving-account-activities.ts';
import type { ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import type { ReceivingAccountRequest } from '../../src/contract/receiving-account.ts';
import { unsentBackoff } from '../../src/domain/receiving-account.ts';
import { accountsOf, openingRequest, untilOpening } from '../support/openings.ts';
import { type Script, type ScriptedProvider, scriptedProvider } from '../support/scripted-openings.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let provider: ScriptedProvider;
let accounts: ReceivingAccounts;
beforeAll(async () => {
  world = await VirtualWorld.start({
    idle: true,
    env: { PAYMENTS_CALL_TIMEOUT: '10ms', PAYOUTS_CONFIRMATION_WINDOW: '10ms' },
  });
  provider = await scriptedProvider(world);
  accounts = accountsOf(world);
});
afterAll(async () => {
  provider.stop();
  await world.stop();
});

const by = 'olga';
const busy: OpenResult = { kind: 'busy', message: 'too many calls' };
const refused: OpenResult = { kind: 'refused', isCertain: true, message: '31001' };
const unreachable: OpenResult = { kind: 'not-sent', cause: 'unreachable' };
const opened = (id: string): OpenResult => ({ kind: 'opened', account: { id } });
const lost = (): OpenResult => {
  throw ApplicationFailure.nonRetryable('sent, and never answered', 'AMBIGUOUS');
};
const wrong = () => {
  throw ApplicationFailure.nonRetryable('900002', 'ILLEGAL_PARAMETER');
};
/** One answer for each send; the last one repeats. */
const inTurn =
  (...answers: (OpenResult | (() => OpenResult))[]) =>
  (send: number) => {
    const answer = answers[Math.min(send, answers.length) - 1] ?? busy;
    return typeof answer === 'function' ? answer() : answer;
  };

async function begin(script: Script): Promise<ReceivingAccountRequest> {
  const request = openingRequest();
  provider.follow(request.payerId, script);
  await accounts.open(request);
  return request;
}
const reviewed = (request: ReceivingAccountRequest) =>
  untilOpening(accounts, request, ({ phase }) => phase === 'NEEDS_REVIEW');

describe.concurrent('H115 a later send says nothing about the previous one', () => {
  test('accounts are compared with those before the first send, not with those before the last', async () => {
    const request = await begin({
      // Opened by the first send, which the provider reported as not served.
      list: (time) => (time === 1 ? [] : ['late']),
      look: (sends) => (sends === 1 ? [] : ['late']),
      open: inTurn(busy, lost),
    });
    expect((await reviewed(request)).candidates).toEqual(['late']);
    expect(provider.counts(request.payerId)).toEqual({ lists: 1, sends: 2 });
  });

  test('a refusal after a send that may have been served: a person decides', async () => {
    const request = await begin({ open: inTurn(busy, refused) });
    const { reasons } = await reviewed(request);
    expect(reasons).toMatchObject([{ code: 'NEEDS_REVIEW', message: expect.stringContaining('31001') }]);
    await accounts.resolve(request, { by, created: false, then: 'end' });
    expect(await accounts.result(request)).toMatchObject({ reason: { code: 'RESOLVED_NOT_OPENED' } });
  });

  test('the same holds when a person has it sent again', async () => {
    const request = await begin({ open: inTurn(lost, refused) });
    await reviewed(request);
    await accounts.resolve(request, { by, created: false, then: 'retry' });
    await reviewed(request);
    expect(provider.counts(request.payerId)).toEqual({ lists: 1, sends: 2 });
  });

  test('a decision that names the sends or the candidates counts for no others', async () => {
    const request = await begin({
      look: (sends) => (sends === 1 ? [] : ['late']),
      open: inTurn(lost, lost),
    });
    expect(await reviewed(request)).toMatchObject({ sends: 1, candidates: [] });
    const decision = { by, created: false } as const;
    await accounts.resolve(request, { ...decision, then: 'retry', sends: 1, candidates: [] });
    await untilOpening(accounts, request, ({ sends }) => sends === 2);
    for (const then of ['retry', 'end'] as const)
      for (const seen of [{ sends: 1 }, { candidates: [] }])
        await expect(accounts.resolve(request, { ...decision, then, ...seen })).rejects.toMatchObject({
          cause: {
            type: 'NotAcceptedNow',
            message: expect.stringMatching(/^(sends: .* 2 |candidates: .*late)/),
          },
        });
    await accounts.resolve(request, { ...decision, then: 'end', sends: 2, candidates: ['late'] });
    expect((await accounts.result(request)).reason?.code).toBe('RESOLVED_NOT_OPENED');
    expect(provider.counts(request.payerId).sends).toBe(2);
  });

  test('an account that was listed once stays a candidate', async () => {
    let looks = 0;
    const look = () => {
      looks += 1;
      return looks === 1 ? ['once'] : [];
    };
    // Without the list before the send, an account does not end the confirmation window early.
    const request = await begin({ list: wrong, look, open: inTurn(busy) });
    expect((await reviewed(request)).candidates).toEqual(['once']);
    expect(provider.counts(request.payerId).sends).toBe(1);
  });

  test('a refusal of the only send ends it', async () => {
    const request = await begin({ open: inTurn(refused) });
    expect(await accounts.result(request)).toMatchObject({ reason: { code: 'REFUSED_BY_PROVIDER' } });
  });

  test('canceling after a send that may have been served has no effect', async () => {
    let release = () => undefined as unknown;
    const released = new Promise((resolve) => {
      release = () => resolve(undefined);
    });
    const look = () => released.then(() => []);
    const request = await begin({ look, open: inTurn(busy, opened('A-1')) });
    await untilOpening(accounts, request, ({ phase }) => phase === 'RECONCILING');
    await accounts.handle(request).cancel();
    release();
    expect(await accounts.result(request)).toMatchObject({ outcome: 'OPENED', accountId: 'A-1' });
  });
});

describe.concurrent('H115 no answer fails an opening', () => {
  test('the list before the send is permanently refused: the account is opened, and compared with nothing', async () => {
    const request = await begin({ list: wrong, look: () => ['old', 'new'], open: inTurn(lost) });
    expect((await reviewed(request)).candidates).toEqual(['old', 'new']);
  });

  test('every list after the send is refused too: a person decides', async () => {
    const request = await begin({ look: wrong, open: inTurn(lost) });
    expect((await reviewed(request)).candidates).toEqual([]);
    await accounts.resolve(request, { by, created: false, then: 'end' });
    expect((await accounts.result(request)).outcome).toBe('NOT_OPENED');
  });

  test('a decision to send again is refused if the provider does not answer the question before it', async () => {
    let isSilent = false;
    const look = () => {
      if (isSilent) throw ApplicationFailure.retryable('no answer', 'UNAVAILABLE');
      return [];
    };
    const request = await begin({ look, open: inTurn(lost) });
    await reviewed(request);
    isSilent = true;
    await expect(accounts.resolve(request, { by, created: false, then: 'retry' })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/did not respond/) },
    });
    expect((await accounts.state(request)).phase).toBe('NEEDS_REVIEW');
  });
});

describe.concurrent('H115 what cannot be sent is retried with growing pauses', () => {
  test('and flagged until it is sent', async () => {
    const request = await begin({ open: inTurn(unreachable, unreachable, unreachable, opened('A-1')) });
    const { reasons } = await untilOpening(accounts, request, ({ needsAttention }) => needsAttention);
    expect(reasons).toMatchObject([{ code: 'NOT_SENT' }]);
    expect(await accounts.result(request)).toMatchObject({ outcome: 'OPENED', accountId: 'A-1' });
    expect(await accounts.state(request)).toMatchObject({ needsAttention: false });
    expect(provider.counts(request.payerId)).toEqual({ lists: 4, sends: 4 });
  });

  test('after half a day, a person decides', () => {
    const steps = Array.from({ length: 24 }, (_, at) => unsentBackoff(at + 1));
    expect(steps.slice(0, 4)).toEqual([
      { pauseMs: 1_000, flag: false },
      { pauseMs: 2_000, flag: false },
      { pauseMs: 4_000, flag: true },
      { pauseMs: 8_000, flag: true },
    ]);
    const pauses = steps.map((step) => (step === 'review' ? 0 : step.pauseMs));
    expect(Math.max(...pauses)).toBe(3_600_000);
    expect(steps.indexOf('review')).toBe(23);
    expect(pauses.reduce((sum, pause) => sum + pause, 0) / 3_600_000).toBeGreaterThan(10);
  });
});
