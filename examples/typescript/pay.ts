/**
 * Pays the request in a JSON file and prints its result: `node pay.js ../payout.json`
 *
 * Running it again joins the same payout, running or ended: nothing is paid twice.
 */
import { readFileSync } from 'node:fs';
import { connectPayouts, type PayoutRequest, type Payouts, PayoutsError } from 'durable-payouts-client';

async function pay(payouts: Payouts, request: PayoutRequest): Promise<void> {
  const payout = await payouts.start(request);
  const state = await payouts.state(payout);
  console.log(`${state.phase}: ${state.sentence}`);
  // A notification is a hint: it makes the payout query the provider.
  const { partnerOrderId } = payout;
  if (state.phase !== 'DONE')
    await payouts.notify(payout, { receivedAt: new Date().toISOString(), partnerOrderId });
  console.log(JSON.stringify(await payouts.result(payout), null, 2));
}

const { payouts, close } = await connectPayouts();
try {
  // `start` validates what the file contains.
  await pay(payouts, JSON.parse(readFileSync(process.argv[2] ?? 'payout.json', 'utf8')));
} catch (error) {
  if (!(error instanceof PayoutsError) || error.isRetryable) throw error;
  if (error.fields.length === 0) console.error(`${error.code}: ${error.message}`);
  for (const { path, message } of error.fields) console.error(`${path} ${message}`);
  process.exitCode = 1;
} finally {
  await close();
}
