import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, test } from 'vitest';
import { providerActivities } from '../../src/activities/shared/provider-activities.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { clientFor } from '../payments/support/client.ts';
import { startServer } from '../payments/support/server.ts';
import { NO_HISTORIES } from '../support/no-histories.ts';
import { SEND_POLICY } from '../support/send-policy.ts';

const CALLER = { environment: 'test', app: 'default' };

/** Fetches an order from a provider that gives this answer to every call. Returns the tokens of the calls. */
async function fetchedWith(status: number, code: number): Promise<(string | undefined)[]> {
  const server = await startServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ code, message: 'no' }));
  });
  let renewals = 0;
  const tokens = {
    token: async () => `token-${renewals}`,
    rejected: () => {
      renewals += 1;
    },
  };
  const { fetchOrder } = providerActivities({
    ...CALLER,
    client: clientFor(server.origin, { tokens }),
    histories: NO_HISTORIES,
    pairs: { isKnown: async () => false },
    claim: async () => undefined,
    runtime: PROCESS_RUNTIME,
    quoteCodes: new Map(),
    prepare: () => Promise.reject(new Error('no payout begins')),
    policy: SEND_POLICY,
  });
  await expect(new MockActivityEnvironment().run(() => fetchOrder(CALLER, 'an order'))).rejects.toMatchObject(
    { type: 'UNAUTHORIZED' },
  );
  return server.seen.map(({ headers }) => headers.authorization);
}

describe('H44 a read that the provider rejects', () => {
  test.each<[number, number]>([
    [401, 401],
    [200, 401],
    [403, 401],
  ])('HTTP %i with code %i: retries once with the next token', async (status, code) => {
    expect(await fetchedWith(status, code)).toEqual(['Bearer token-0', 'Bearer token-1']);
  });

  test.each<[number, number]>([
    [403, 403],
    [403, 900002],
    [200, 403],
  ])('HTTP %i with code %i: does not retry', async (status, code) => {
    expect(await fetchedWith(status, code)).toEqual(['Bearer token-0']);
  });
});
