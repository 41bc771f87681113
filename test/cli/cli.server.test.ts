import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programArguments } from '../../scripts/programs.ts';
import { Leases } from '../../src/client/leases.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { CAN_HAVE_TERMINAL, cli, cliOnTerminal, ended } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

let world: VirtualWorld;
let folder: string;
const run = (...args: string[]) => cli(world.workerEnvironment, args);

beforeAll(async () => {
  world = await VirtualWorld.start();
  folder = mkdtempSync(join(tmpdir(), 'payouts-cli-'));
});

afterAll(async () => {
  await world.stop();
  rmSync(folder, { recursive: true, force: true });
});

function file(content: unknown): string {
  const path = join(folder, `${newPartnerOrderId()}.json`);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

function request(scenario: string, over: Partial<PayoutRequest> = {}): PayoutRequest {
  return payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}`, ...over });
}

describe('start', () => {
  test('starts a payout, waits for it and prints the result; the same file joins it', async () => {
    const body = request('success');
    const path = file(body);
    const first = await run('start', path, '--wait', '--json');
    expect(first.code).toBe(0);
    expect(first.json()).toMatchObject([{ partnerOrderId: body.partnerOrderId, outcome: 'SUCCESS' }]);
    const again = await run('start', path, '--wait');
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(again.stdout).toContain('SUCCESS');
    expect(world.simulator.control.ledgerOf(body.partnerOrderId).debits).toBe(1);
  });

  test('exits 5 for a payout that does not end as SUCCESS', async () => {
    expect((await run('start', file(request('failure')), '--wait')).code).toBe(5);
  });

  test('one bad payout in a list: names every bad field by row, and starts nothing', async () => {
    const good = request('success');
    const bad = { ...request('success'), instructedAmount: { currency: 'CNY', amount: '1e3' }, receiver: {} };
    const { code, ...answer } = await run('start', file([good, bad]), '--json');
    expect(code).toBe(2);
    expect(answer.json()).toMatchObject({
      error: {
        code: 'INVALID_PAYOUT_REQUEST',
        fields: expect.arrayContaining([
          expect.objectContaining({ path: '1.instructedAmount.amount' }),
          expect.objectContaining({ path: '1.receiver.bankAccountNumber' }),
        ]),
      },
    });
    expect((await run('status', good.partnerOrderId)).code).toBe(3);
  });

  test('rejects another body under the same partnerOrderId', async () => {
    const body = request('success');
    expect((await run('start', file(body))).code).toBe(0);
    const other = { ...body, instructedAmount: { currency: 'CNY', amount: '999.00' } };
    const answer = await run('start', file(other), '--json');
    expect(answer.code).toBe(4);
    expect(answer.json()).toMatchObject({ error: { code: 'CONFLICT' } });
  });

  test('reads standard input', async () => {
    const answer = await cli(
      world.workerEnvironment,
      ['start', '-', '--json'],
      JSON.stringify(request('success')),
    );
    expect(answer.code).toBe(0);
  });

  test('--dry-run shows the quote and whether it is within the limits; creates and starts nothing', async () => {
    const dear = request('success', { limits: { maxPay: { currency: 'USD', amount: '0.01' } } });
    const fine = request('success');
    const answer = await run('start', file([fine, dear]), '--dry-run', '--json');
    expect(answer.code).toBe(0);
    expect(answer.json()).toMatchObject([
      { partnerOrderId: fine.partnerOrderId, accepted: true, quote: { lockRateId: expect.any(String) } },
      { partnerOrderId: dear.partnerOrderId, accepted: false, problem: { code: 'QUOTE_OUT_OF_LIMITS' } },
    ]);
    expect((await run('status', fine.partnerOrderId)).code).toBe(3);
    expect(world.simulator.control.ledgerOf(fine.partnerOrderId).debits).toBe(0);
  });
});

describe('approve, cancel, resolve, notify, poll', () => {
  test('approve requires another person; status shows the quote that awaits approval', async () => {
    const body = request('success', { approval: 'required' });
    await run('start', file(body));
    const id = body.partnerOrderId;
    const waiting = await eventually(async () => {
      const answer = await run('status', id);
      return answer.stdout.includes('AWAITING_APPROVAL') ? answer : undefined;
    });
    expect(waiting.stdout).toContain('USD');
    const nameless = await run('approve', id);
    expect(nameless.code).toBe(2);
    expect(nameless.stderr).toContain('--by');
    const given = ['--by', 'olga', '--note', 'fine', '--tolerance', '0.5'];
    expect((await run('approve', id, ...given)).code).toBe(0);
    const result = await run('result', id, '--json');
    expect(result.code).toBe(0);
    expect(result.json()).toMatchObject({ decisions: [{ by: 'olga', note: 'fine', tolerance: '0.5' }] });
  });

  test('cancel ends a payout that waits; cancel after the create is rejected with the reason', async () => {
    const early = request('success', { notBefore: new Date(Date.now() + 3_600_000).toISOString() });
    await run('start', file(early));
    expect((await run('cancel', early.partnerOrderId, '--by', 'olga', '--reason', 'wrong seller')).code).toBe(
      0,
    );
    expect((await run('result', early.partnerOrderId, '--json')).json()).toMatchObject({
      outcome: 'NOT_CREATED',
      reason: { code: 'CANCELLED' },
    });
    const ref = await world.pay('slow final=1h');
    await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    const late = await run('cancel', ref.partnerOrderId, '--by', 'olga', '--json');
    expect(late.code).toBe(4);
    expect(late.json()).toMatchObject({ error: { code: 'NOT_ACCEPTED_NOW', message: expect.any(String) } });
  });

  test('H203 a decision about an ended payout is refused, with the outcome', async () => {
    const ref = await world.pay('failure');
    await world.payouts.result(ref);
    const decisions = [['approve'], ['refuse'], ['cancel'], ['resolve', '--not-created', 'end']] as const;
    for (const [verb, ...options] of decisions) {
      const late = await run(verb, ref.partnerOrderId, '--by', 'olga', ...options);
      expect(late).toMatchObject({ code: 4, stdout: '', stderr: 'this payout has ended: FAILED\n' });
    }
    const polled = await run('poll', ref.partnerOrderId, '--json');
    expect(polled.json()).toEqual({
      error: { code: 'NOT_ACCEPTED_NOW', message: 'this payout has ended: FAILED' },
    });
    expect((await run('poll', newPartnerOrderId())).code).toBe(3);
    const stopped = await world.pay('slow final=1h');
    await world.payouts.handle(stopped).terminate('by the test');
    expect(await run('poll', stopped.partnerOrderId)).toMatchObject({
      code: 4,
      stderr: 'the workflow of this payout has ended\n',
    });
  });

  test('resolve ends a review, and requires exactly one decision', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    const unclear = await run('resolve', ref.partnerOrderId, '--by', 'olga');
    expect(unclear.code).toBe(2);
    const noNumber = await run(
      'resolve',
      ref.partnerOrderId,
      '--by',
      'olga',
      '--not-created',
      'end',
      '--sends',
      'x',
    );
    expect(noNumber.code).toBe(2);
    expect((await run('resolve', ref.partnerOrderId, '--by', 'olga', '--not-created', 'end')).code).toBe(0);
    expect((await run('result', ref.partnerOrderId, '--json')).json()).toMatchObject({
      reason: { code: 'RESOLVED_NOT_CREATED' },
    });
  });

  test('notify and poll make the payout query the provider', async () => {
    const ref = await world.pay('slow final=1h');
    const before = await world.until(ref, ({ phase }) => phase === 'PROCESSING');
    expect((await run('notify', ref.partnerOrderId, '--status', 'SUCCESS')).code).toBe(0);
    const polled = await run('poll', ref.partnerOrderId, '--json');
    expect(polled.code).toBe(0);
    expect(polled.json()).toMatchObject({ phase: 'PROCESSING' });
    const after = await world.payouts.state(ref);
    expect(Date.parse(after.lastAskedAt ?? '')).toBeGreaterThan(Date.parse(before.lastAskedAt ?? ''));
  });
});

describe('list, account, status, help', () => {
  test('H200 what the provider says of a failure cannot act on the terminal', async () => {
    const partnerOrderId = newPartnerOrderId();
    for (const text of ['escape', 'bidi'] as const)
      world.simulator.control.addFault({
        partnerOrderId,
        probability: 0.5,
        fault: { kind: 'odd-text', text },
      });
    world.simulator.control.addFault({ partnerOrderId, fault: { kind: 'odd-text', text: 'bad-byte' } });
    await world.payouts.result(await world.pay('failure', { partnerOrderId }));
    for (const options of [[], ['--json']]) {
      const { code, stdout } = await run('result', partnerOrderId, ...options);
      expect(code).toBe(5);
      expect(stdout).toMatch(/PROVIDER_FAILED/);
      // JSON escapes what it can.
      expect(stdout.replaceAll('\n', ' ')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]|\\u/u);
    }
  });

  test('H201 watch ends with its reader', async () => {
    const ref = await world.pay('success', { approval: 'required' });
    await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    const words = [...programArguments('src/starters/cli/main.ts'), 'watch', ref.partnerOrderId];
    const script = '"$@" | head -n 1; echo "$PIPESTATUS"';
    const watched = ended(
      'bash',
      ['-c', script, 'bash', process.execPath, ...words],
      world.workerEnvironment,
    );
    await world.payouts.approve(ref, { by: 'olga' });
    expect(await watched).toMatchObject({ stderr: '', stdout: expect.stringMatching(/^[^\n]+\n0\n$/) });
  });

  test('list filters by attention flag', async () => {
    const ref = await world.payWithFault({ kind: 'drop-before' }, 'success');
    await world.until(ref, ({ phase }) => phase === 'NEEDS_REVIEW');
    const rows = await eventually(async () => {
      const answer = await run('list', '--attention', '--json');
      return answer.stdout.includes(ref.partnerOrderId) ? answer.json() : undefined;
    });
    expect(rows).toContainEqual(
      expect.objectContaining({
        partnerOrderId: ref.partnerOrderId,
        phase: 'NEEDS_REVIEW',
        needsAttention: true,
        reasons: [expect.objectContaining({ code: 'NEEDS_REVIEW' })],
      }),
    );
    expect((await run('list', '--phase', "x' OR 1=1")).code).toBe(2);
  });

  test.skipIf(!CAN_HAVE_TERMINAL)(
    'prints colors on a terminal, and none to a pipe or with NO_COLOR',
    async () => {
      const piped = await cli({ ...world.workerEnvironment, CI: 'true' }, ['list', '--attention']);
      expect(piped.stdout).toContain('NEEDS_REVIEW: ');
      expect(piped.stdout).not.toContain('\u001b[');
      const terminal = await cliOnTerminal(world.workerEnvironment, ['list', '--attention']);
      expect(terminal.stdout).toContain('\u001b[33m');
      const without = await cliOnTerminal({ ...world.workerEnvironment, NO_COLOR: '1' }, [
        'list',
        '--attention',
      ]);
      expect(without.stdout).not.toContain('\u001b[3');
    },
  );

  test('account shows balances through a worker, without a call from the CLI to the provider', async () => {
    const answer = await run('account', '--client-id', 'client-1');
    expect(answer.code).toBe(0);
    expect(answer.stdout).toMatch(/AVAIL_ACCOUNT.*NORMAL/);
    expect((await run('account')).code).toBe(2);
  });

  test('exits 3 for an unknown payout, 2 for an unknown verb, 1 when Temporal is unavailable', async () => {
    expect((await run('status', 'no-such-payout')).code).toBe(3);
    expect((await run('pay-everybody')).code).toBe(2);
    const away = await cli({ ...world.workerEnvironment, TEMPORAL_ADDRESS: '127.0.0.1:9' }, [
      'list',
      '--json',
    ]);
    expect(away.code).toBe(1);
    expect(away.json()).toHaveProperty('error.message');
  });

  test('--help lists every verb and the exit codes', async () => {
    const { stdout, code } = await run('--help');
    expect(code).toBe(0);
    for (const verb of [
      'start',
      'status',
      'result',
      'approve',
      'refuse',
      'cancel',
      'resolve',
      'poll',
      'notify',
      'list',
      'batch',
      'quote',
      'account',
      'tokens',
      'rate-limit',
      'doctor',
    ])
      expect(stdout).toContain(`  ${verb} `);
    expect(stdout).toContain('Exit codes');
  });
});

describe('tokens', () => {
  test('shows the application token, renews it on demand, and names a user who never authorized', async () => {
    await run('account', '--client-id', 'client-1');
    const listed = await run('tokens', '--json');
    expect(listed.json()).toMatchObject([{ kind: 'application', needsAttention: false }]);
    expect((await run('tokens')).stdout).toContain('Valid; renewed automatically.');
    const before = Number(/"renewals": (\d+)/.exec(listed.stdout)?.[1]);
    const renewed = await run('tokens', '--renew', 'application', '--json');
    expect(renewed.json()).toMatchObject([{ renewals: before + 1 }]);
    expect((await run('tokens', '--renew', 'nobody')).code).toBe(3);
  });
});

describe('rate-limit', () => {
  test('shows the lease owner, and changes the rate without a restart', async () => {
    await run('account', '--client-id', 'client-1');
    const limits = new Leases(world.client, 'test');
    await eventually(async () => (await limits.rateLimit('default')).inForce ?? undefined);
    const configured = { callsPerSecond: null, changedBy: null, inForce: 500 };
    expect((await run('rate-limit', '--json')).json()).toMatchObject(configured);
    expect((await run('rate-limit')).stdout).toContain("500, the workers' configuration");
    const changed = await run('rate-limit', '--calls-per-second', '400', '--by', 'olga', '--json');
    expect(changed.json()).toMatchObject({ app: 'default', callsPerSecond: 400, changedBy: 'olga' });
    expect((await run('rate-limit')).stdout).toContain('olga');
    const reset = await run('rate-limit', '--calls-per-second', 'default', '--by', 'olga', '--json');
    expect([reset.code, reset.json()]).toEqual([0, expect.objectContaining({ callsPerSecond: null })]);
    expect((await run('rate-limit', '--calls-per-second', '0', '--by', 'olga')).code).toBe(2);
    expect((await run('rate-limit', '--calls-per-second', '9')).code).toBe(2);
    expect((await run('rate-limit', '--app', 'unknown')).code).toBe(3);
    expect((await run('account', '--client-id', 'client-1')).code).toBe(0);
  });
});
