import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FaultInput } from '../../simulator/index.ts';
import { ConflictError, InvalidPayoutRequestError } from '../../src/client/errors.ts';
import type { ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import type { ReceivingAccountRequest } from '../../src/contract/receiving-account.ts';
import { eventually } from '../support/eventually.ts';
import { record, replays } from '../support/histories.ts';
import { accountsOf, openedFor, openingRequest, untilOpening } from '../support/openings.ts';
import { resetBefore } from '../support/resets.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let accounts: ReceivingAccounts;

/** What the provider does instead of answering. The account is opened each time. */
const LOST: readonly [string, FaultInput][] = [
  ['dropped after it took effect', { kind: 'drop-after' }],
  ['a 500 that took effect', { kind: 'status', status: 500, effect: 'commit' }],
  ['an unreadable answer', { kind: 'garbage', effect: 'commit' }],
  ['a 429 that took effect', { kind: 'rate-limited-but-executes' }],
  ['an undocumented code, and it took effect', { kind: 'envelope', code: 7, effect: 'commit' }],
  ['201 under HTTP 201, and it took effect', { kind: 'envelope', code: 201, status: 201, effect: 'commit' }],
];

/** Those that take a confirmation window: started one after the other, so that their windows run in parallel. */
const slow = {
  undocumented: openingRequest(),
  limited: openingRequest(),
  unanswered: [openingRequest(), openingRequest(), openingRequest(), openingRequest()],
  reset: [openingRequest(), openingRequest()],
  lost: LOST.map(() => openingRequest()),
};

beforeAll(async () => {
  // A call that a busy machine does not finish in time would require a person.
  world = await VirtualWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '5s' } });
  accounts = accountsOf(world);
  await begin(slow.undocumented, { kind: 'envelope', code: 31_001 });
  for (const request of slow.unanswered) await begin(request, { kind: 'drop-before' });
  for (const [at, request] of slow.lost.entries()) await begin(request, LOST[at]?.[1] ?? { kind: 'garbage' });
  // The last one has a fault, because it is sent again automatically.
  await begin(slow.limited, { kind: 'status', status: 429 });
  for (const [at, activity] of ['listReceivingAccounts', 'openReceivingAccount'].entries()) {
    const request = slow.reset[at] ?? openingRequest();
    await accounts.open(request);
    await accounts.result(request);
    await resetBefore(world, accounts.handle(request), activity);
  }
  for (const request of [...slow.unanswered, ...slow.lost, ...slow.reset])
    await untilOpening(accounts, request, ({ phase }) => phase === 'NEEDS_REVIEW');
  for (const request of [slow.undocumented, slow.limited]) await accounts.result(request);
});
afterAll(() => world.stop());

/** Applies `fault` to the next send, and returns once it was applied. */
async function begin(request: ReceivingAccountRequest, fault: FaultInput): Promise<void> {
  injectFault(fault);
  await accounts.open(request);
  await eventually(async () => {
    const { phase } = await accounts.state(request);
    return (phase !== 'CHECKING' && phase !== 'OPENING') || undefined;
  });
}

const by = 'olga';
const injectFault = (fault: FaultInput, times = 1) =>
  world.simulator.control.addFault({ operation: 'receivingAccountCreate', times, fault });

describe('a receiving account', () => {
  test("is opened once, and returned with the provider's fields", async () => {
    const request = openingRequest({ bankLocation: 'Hong Kong', monthSaleVolume: '10000' });
    const started = await accounts.open(request);
    expect(started.workflowId).toBe(`receiving-account:default:${request.requestId}`);
    const result = await accounts.result(request);
    expect(result).toMatchObject({
      outcome: 'OPENED',
      learnedBy: 'response',
      account: { payer_id: request.payerId, currency: 'USD', bank_location: 'Hong Kong' },
    });
    expect(await openedFor(world, request)).toEqual([result.accountId]);
    expect(await accounts.state(request)).toMatchObject({ phase: 'DONE', needsAttention: false, ...result });
    const history = await accounts.handle(request).fetchHistory();
    record('account-opened', history);
    await replays(history);
  });

  test('the same request joins, also after the end; another body is rejected', async () => {
    const request = openingRequest();
    const all = await Promise.all(Array.from({ length: 6 }, () => accounts.open(request)));
    await accounts.result(request);
    all.push(await accounts.open({ app: 'default', ...request }));
    expect(new Set(all.map(({ runId }) => runId)).size).toBe(1);
    await expect(accounts.open({ ...request, currency: 'EUR' })).rejects.toThrow(ConflictError);
    expect((await openedFor(world, request)).length).toBe(1);
  });

  test('every bad field is named, by the client and by the workflow', async () => {
    const bad = {
      ...openingRequest(),
      payerId: 'a/b',
      currency: 'usd',
      bankLocation: 'Mars',
      usages: [],
      x: 1,
    };
    // @ts-expect-error: the type rejects it, too.
    const failure = await accounts.open(bad).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InvalidPayoutRequestError);
    const paths = ['payerId', 'currency', 'bankLocation', 'usages', 'x'];
    expect(failure).toMatchObject({ fields: paths.map((path) => ({ path })) });
    const { workflowId } = accounts.handle(bad);
    const raw = { taskQueue: 'payouts', workflowId, args: [bad] };
    await expect(world.client.workflow.execute('openReceivingAccount', raw)).rejects.toMatchObject({
      cause: { type: 'InvalidPayoutRequest', message: expect.stringContaining('payerId') },
    });
  });

  test('under a foreign workflow id is bad input', async () => {
    const raw = { taskQueue: 'payouts', workflowId: `mine-${openingRequest().requestId}` };
    const started = world.client.workflow.execute('openReceivingAccount', {
      ...raw,
      args: [openingRequest()],
    });
    await expect(started).rejects.toMatchObject({ cause: { message: expect.stringContaining('requestId') } });
  });

  test.each([
    ['the code for an illegal parameter', { kind: 'envelope', code: 900_002 }],
    ['a code and a status that both refuse', { kind: 'envelope', code: 31_001, status: 400 }],
  ] as const)('%s ends it as NOT_OPENED, without a person', async (_what, fault) => {
    const request = openingRequest();
    injectFault(fault);
    await accounts.open(request);
    expect(await accounts.result(request)).toMatchObject({
      outcome: 'NOT_OPENED',
      reason: { code: 'REFUSED_BY_PROVIDER', message: expect.stringMatching(/900002|31001/) },
    });
    expect(await openedFor(world, request)).toEqual([]);
  });

  test('an undocumented code without a new account in the list: NOT_OPENED, without a person', async () => {
    expect(await accounts.result(slow.undocumented)).toMatchObject({
      outcome: 'NOT_OPENED',
      reason: { code: 'REFUSED_BY_PROVIDER', message: expect.stringContaining('31001') },
    });
    expect(await openedFor(world, slow.undocumented)).toEqual([]);
  });

  test('a 429 that was not served is sent again automatically, once no list shows an account', async () => {
    expect((await accounts.result(slow.limited)).outcome).toBe('OPENED');
    expect((await openedFor(world, slow.limited)).length).toBe(1);
  });

  test('cancel before the send ends it; during the send it has no effect', async () => {
    const listing = world.hold({ operation: 'receivingAccountBalance' }, 'before');
    const early = openingRequest();
    await accounts.open(early);
    await eventually(listing.arrived);
    await accounts.handle(early).cancel();
    expect(await accounts.result(early)).toMatchObject({ reason: { code: 'CANCELLED' } });
    listing.release();
    const sending = world.hold({ operation: 'receivingAccountCreate' }, 'before');
    const late = openingRequest();
    await accounts.open(late);
    await eventually(sending.arrived);
    await accounts.handle(late).cancel();
    sending.release();
    expect(await openedFor(world, early)).toEqual([]);
  });
});

describe('H115 the answer to an opening is lost', () => {
  test.each(LOST.map(([what], at) => [what, at] as const))(
    '%s: shows a person the candidate account, and sends nothing again',
    async (_what, at) => {
      const request = slow.lost[at] ?? openingRequest();
      const [accountId = ''] = await openedFor(world, request);
      const state = await accounts.state(request);
      expect(state).toMatchObject({ candidates: [accountId], needsAttention: true });
      await accounts.resolve(request, { by, created: true, accountId });
      expect(await accounts.result(request)).toMatchObject({
        outcome: 'OPENED',
        accountId,
        account: { id: accountId },
        learnedBy: 'operator',
      });
      expect(await openedFor(world, request)).toEqual([accountId]);
    },
  );
});

describe('H115 neither an answer nor a new account', () => {
  const next = () => slow.unanswered.pop() ?? openingRequest();

  test('each waits for a person, and nothing was sent again', async () => {
    for (const request of slow.unanswered) {
      expect(await accounts.state(request)).toMatchObject({ candidates: [], needsAttention: true });
      expect(await openedFor(world, request)).toEqual([]);
    }
  });

  test('a review is found by its search attributes; a person can have it sent again', async () => {
    const request = next();
    const { workflowId } = accounts.handle(request);
    const query = `WorkflowId = '${workflowId}' AND PayoutNeedsAttention = true AND PayoutReasons = 'NEEDS_REVIEW'`;
    await eventually(async () => (await world.client.workflow.count(query)).count > 0 || undefined);
    const state = await accounts.resolve(request, { by, created: false, then: 'retry' });
    expect(state).toMatchObject({ needsAttention: false });
    expect(state.phase).not.toBe('NEEDS_REVIEW');
    expect((await accounts.result(request)).outcome).toBe('OPENED');
    expect((await openedFor(world, request)).length).toBe(1);
    const history = await accounts.handle(request).fetchHistory();
    record('account-reviewed', history);
    await replays(history);
  });

  test('a person can end it, and receives the final state', async () => {
    const request = next();
    const answer = await accounts.resolve(request, { by, created: false, then: 'end' });
    expect(answer).toMatchObject({ phase: 'DONE', outcome: 'NOT_OPENED', needsAttention: false });
    expect(await openedFor(world, request)).toEqual([]);
  });

  test('an account that appeared after the person\'s last look rejects "send again"', async () => {
    const request = next();
    // Another caller's request for the same payer, as far as this one can know.
    const other = openingRequest({ payerId: request.payerId });
    await accounts.open(other);
    const { accountId = '' } = await accounts.result(other);
    // H205: a decision that is not carried out is refused.
    await expect(accounts.resolve(request, { by, created: false, then: 'retry' })).rejects.toMatchObject({
      cause: { type: 'NotAcceptedNow', message: expect.stringMatching(/another account appeared/) },
    });
    const state = await accounts.state(request);
    expect(state).toMatchObject({ phase: 'NEEDS_REVIEW', candidates: [accountId] });
    expect(await openedFor(world, request)).toEqual([accountId]);
  });

  test('a wrong account is rejected, and the review continues', async () => {
    const earlier = openingRequest();
    await accounts.open(earlier);
    const { accountId: foreign = '' } = await accounts.result(earlier);
    const request = next();
    const refusals = [
      [{ by, created: true, accountId: 'RA-nobody' }, /knows no such account/],
      [{ by, created: true, accountId: foreign }, /another payer/],
      [{ by: ' ', created: false, then: 'end' }, /by: must name/],
    ] as const;
    for (const [said, why] of refusals)
      await expect(accounts.resolve(request, said)).rejects.toMatchObject({
        cause: { type: 'NotAcceptedNow', message: expect.stringMatching(why) },
      });
    expect(await accounts.state(request)).toMatchObject({ phase: 'NEEDS_REVIEW', needsAttention: true });
  });
});

test('H6 a Workflow Reset to any point opens no second account', async () => {
  for (const request of slow.reset) {
    const [accountId = '', ...more] = await openedFor(world, request);
    expect(more).toEqual([]);
    expect((await accounts.state(request)).candidates).toEqual([accountId]);
    await accounts.resolve(request, { by, created: true, accountId });
    expect(await accounts.result(request)).toMatchObject({ outcome: 'OPENED', accountId });
    expect(await openedFor(world, request)).toEqual([accountId]);
  }
});
