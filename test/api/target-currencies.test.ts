/** Which amounts and target currencies a payout may have, through every way in. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Batches } from '../../src/client/batches.ts';
import { InvalidPayoutRequestError } from '../../src/client/errors.ts';
import { Payouts } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId, type TestWorld } from '../support/test-world.ts';
import { startWorld } from '../support/world.ts';

const EUROS: Environment = { PAYMENTS_TARGET_CURRENCIES: 'CNY,EUR' };

let world: TestWorld;
const servers: TestApiServer[] = [];
beforeAll(async () => {
  // The workers take euros: what is refused here, an edge has refused.
  world = await startWorld({ env: EUROS });
  for (const variables of [{}, EUROS])
    servers.push(
      await startApiServer(world.client, {
        ...variables,
        PAYOUTS_API_KEYS_FILE: keysFile([
          callerEntry('shop', { largestAmount: { CNY: '1000.00', EUR: '1000.00' } }),
        ]),
      }),
    );
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await world.stop();
});

function inEuros() {
  const body = payoutRequest(newPartnerOrderId(), {
    ...{
      ...{ platform: 'sim:success', approval: 'required' },
      targetCurrency: 'EUR',
      instructedAmount: { currency: 'EUR', amount: '100.00' },
    },
  });
  return { ...body, receiver: { ...body.receiver, bankAccountCurrency: 'EUR' } };
}
const inDollars = () =>
  payoutRequest(newPartnerOrderId(), { instructedAmount: { currency: 'USD', amount: '100.00' } });
const batchOf = (...payouts: object[]) => ({ batchId: newPartnerOrderId(), payouts });
const [STRICT, TAKES_EUROS] = [0, 1];
const send = (server: number, path: string, body: object) =>
  post(`${servers[server]?.url}${path}`, body, as('shop'));

describe('H220 a payout in another currency than the provider takes, or of an amount that is not received', () => {
  test.each([
    ['the target currency', inEuros, 'targetCurrency'],
    ['the currency of the amount', inDollars, 'instructedAmount.currency'],
  ])('is refused over HTTP, with the field: %s', async (_which, draw, path) => {
    const refused = { status: 400, body: { errors: [{ path }] } };
    expect(await send(STRICT, '/v1/payouts', draw())).toMatchObject(refused);
    const batch = await send(
      STRICT,
      '/v1/payout-batches',
      batchOf(payoutRequest(newPartnerOrderId()), draw()),
    );
    expect(batch).toMatchObject({ status: 400, body: { errors: [{ path: `1.${path}` }] } });
  });

  test.each([
    ['the target currency', inEuros, 'targetCurrency'],
    ['the currency of the amount', inDollars, 'instructedAmount.currency'],
  ])('is refused by the client library: %s', async (_which, draw) => {
    const payouts = new Payouts({ client: world.client, environment: 'test' });
    await expect(payouts.start(draw())).rejects.toThrow(InvalidPayoutRequestError);
    const batches = new Batches({ client: world.client, environment: 'test' });
    await expect(batches.start(batchOf(draw()))).rejects.toThrow(InvalidPayoutRequestError);
  });

  test('is quoted with the setting', async () => {
    const [one, two] = [inEuros(), inEuros()];
    expect((await send(TAKES_EUROS, '/v1/payouts', one)).status).toBe(202);
    expect((await send(TAKES_EUROS, '/v1/payout-batches', batchOf(two))).status).toBe(202);
    for (const body of [one, two]) {
      const { quote } = await world.until(body, ({ phase }) => phase === 'AWAITING_APPROVAL');
      expect(quote?.target).toEqual(body.instructedAmount);
      await world.payouts.cancel(body, { by: 'olga' });
    }
  });
});
