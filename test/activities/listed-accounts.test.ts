import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunHistories } from '../../src/activities/payout/earlier-runs.ts';
import { providerActivities } from '../../src/activities/shared/provider-activities.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { clientFor } from '../payments/support/client.ts';
import { startServer } from '../payments/support/server.ts';
import { NO_HISTORIES } from '../support/no-histories.ts';
import { SEND_POLICY } from '../support/send-policy.ts';

const CALLER = { environment: 'test', app: 'default' };
const OWN = { workflowId: 'receiving-account:default:ra-1', runId: 'own' };
const ACCOUNTS = ['account-1'];

let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  server = await startServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ code: 0, data: { balance: '0', accounts: ACCOUNTS } }));
  }, true);
});
afterAll(() => server.close());

interface Case {
  others: boolean;
  recoveredAtMs?: number;
  maximumAttempts?: number;
}

/** Lists the payer's accounts in a run whose id has `others`: another run that has sent the request. */
function listed({ others, recoveredAtMs, maximumAttempts }: Case): Promise<string[] | null> {
  const other = { runId: 'other', startedAtMs: 0 };
  const histories: RunHistories = {
    ...NO_HISTORIES,
    othersOf: async () => (others ? [other] : []),
    mayHaveOthers: async () => others,
    evidenceOf: async (_workflowId, runId) => ({
      deadlineMs: runId === other.runId ? 1 : undefined,
      isCompleted: false,
      sent: [],
    }),
  };
  const { listReceivingAccounts } = providerActivities({
    ...CALLER,
    client: clientFor(server.origin),
    histories,
    pairs: { isKnown: async () => false },
    claim: async () => undefined,
    runtime: PROCESS_RUNTIME,
    quoteCodes: new Map(),
    prepare: () => Promise.reject(new Error('no payout begins')),
    policy: { ...SEND_POLICY, recoveredAtMs },
  });
  const info = { workflowExecution: OWN, ...(maximumAttempts && { retryPolicy: { maximumAttempts } }) };
  const key = { payerId: 'payer-1', currency: 'USD' };
  return new MockActivityEnvironment(info).run(() => listReceivingAccounts(CALLER, key));
}

describe('H192 the list of accounts before a request is sent', () => {
  test('is known if no other run may have sent the request', async () => {
    expect(await listed({ others: false })).toEqual(ACCOUNTS);
  });

  test.each<[string, Case]>([
    ['another run has sent the request', { others: true }],
    ['a restored Temporal may have lost a run', { others: false, recoveredAtMs: 1 }],
  ])('is unknown if %s, but a person who names an account is checked against it', async (_why, which) => {
    expect(await listed(which)).toBeNull();
    expect(await listed({ ...which, maximumAttempts: 4 })).toEqual(ACCOUNTS);
  });
});
