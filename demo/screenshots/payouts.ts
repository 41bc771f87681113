/** Invented payouts in every state that an operator may see. */
import { setTimeout as sleep } from 'node:timers/promises';
import { simulatorControl } from '../../simulator/control/client.ts';
import type { Payouts, StartedPayout } from '../../src/client/payouts.ts';
import type { PayoutPhase } from '../../src/contract/codes.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { changeDetector } from '../../src/temporal/queries.ts';

interface Shown {
  number: string;
  cny: string;
  to?: Beneficiary;
  scenario: string;
  over?: Partial<PayoutRequest>;
  /** The phase to wait for. */
  rests: PayoutPhase;
}

const POLL_INTERVAL_MS = 250;
const TOMORROW_MS = 86_400_000;

type Beneficiary = readonly [name: string, accountEnd: string];
const SELLER: Beneficiary = ['Invented Seller', '0001'];
const TOYS: Beneficiary = ['Lotus Toys Ltd', '4417'];
const TEXTILES: Beneficiary = ['Harbor Textiles', '9052'];
const LIGHTS: Beneficiary = ['Bright Lights Co', '2230'];

const APPROVED_FIRST = { approval: 'required' } as const;

const SHOWN: readonly Shown[] = [
  { number: 'invoice-2041', cny: '1250.00', to: TOYS, scenario: 'success', rests: 'DONE' },
  {
    number: 'invoice-2042',
    cny: '90000.00',
    to: TEXTILES,
    scenario: 'partial splits=3 failed=1',
    rests: 'DONE',
  },
  { number: 'invoice-2043', cny: '380.00', to: LIGHTS, scenario: 'failure', rests: 'DONE' },
  {
    number: 'invoice-2044',
    cny: '7300.00',
    scenario: 'success',
    over: { limits: { maxPay: { currency: 'USD', amount: '900.00' } } },
    rests: 'DONE',
  },
  { number: 'invoice-2045', cny: '5200.00', to: LIGHTS, scenario: 'slow final=1h', rests: 'PROCESSING' },
  ...(
    [
      ['invoice-2046', '64000.00', SELLER],
      ['invoice-2050', '12480.50', TOYS],
      ['invoice-2051', '7300.00', TEXTILES],
      ['invoice-2052', '182600.00', LIGHTS],
    ] as const
  ).map(
    ([number, cny, to]) =>
      ({
        number,
        cny,
        to,
        scenario: 'success',
        over: APPROVED_FIRST,
        rests: 'AWAITING_APPROVAL',
      }) as const,
  ),
  { number: 'invoice-2047', cny: '2900.00', to: TOYS, scenario: 'returned', rests: 'PROCESSING' },
  { number: 'invoice-2048', cny: '4800.00', scenario: 'success', rests: 'NEEDS_REVIEW' },
  {
    number: 'invoice-2049',
    cny: '1100.00',
    scenario: 'success',
    over: { notBefore: new Date(Date.now() + TOMORROW_MS).toISOString() },
    rests: 'SCHEDULED',
  },
];
/** Its create is lost, so it is unknown whether the order exists. */
const IN_REVIEW = 'invoice-2048';

export type Paid = ReadonlyMap<string, StartedPayout>;

export async function startAndWait(payouts: Payouts, simulatorUrl: string): Promise<Paid> {
  await loseTheCreate(simulatorControl(simulatorUrl));
  const paid = new Map<string, StartedPayout>();
  for (const shown of SHOWN)
    paid.set(shown.number, await payouts.start(payoutRequest(shown), { startedBy: 'shop' }));
  for (const { number, rests } of SHOWN) {
    const ref = paid.get(number);
    if (ref) await untilAtRest(payouts, ref, rests);
  }
  return paid;
}

async function loseTheCreate(control: ReturnType<typeof simulatorControl>): Promise<void> {
  await control.addFault({
    operation: 'createCnyOrder',
    partnerOrderId: IN_REVIEW,
    times: 1,
    fault: { kind: 'drop-before' },
  });
}

async function untilAtRest(payouts: Payouts, ref: StartedPayout, rests: PayoutPhase): Promise<void> {
  const hasNews = changeDetector(payouts.handle(ref));
  for (; ; await sleep(POLL_INTERVAL_MS)) {
    if (!(await hasNews())) continue;
    const { phase, lastConfirmedAt } = await payouts.state(ref);
    if (phase === rests && (rests !== 'PROCESSING' || lastConfirmedAt !== undefined)) return;
    if (phase === 'DONE') throw new Error(`${ref.partnerOrderId} ended before it could be shown`);
  }
}

/** An invented payout whose order follows `scenario`. */
export function payoutRequest({
  number,
  cny,
  to = SELLER,
  scenario,
  over,
}: Omit<Shown, 'rests'>): PayoutRequest {
  return {
    clientId: 'client-1001',
    payerId: 'payer-1001',
    partnerOrderId: number,
    type: 'WITHDRAW',
    instructedAmount: { currency: 'CNY', amount: cny },
    originCurrency: 'USD',
    targetCurrency: 'CNY',
    remittancePurposeCode: 'GOODS_TRADE',
    platform: `sim:${scenario}`,
    receiver: {
      bankCountry: 'CN',
      bankName: 'Bank of Example',
      bankAccountCurrency: 'CNY',
      bankAccountNumber: `622202000000${to[1]}`,
      bankAccountName: to[0],
      idCardNumber: '110101199003070001',
      cardHoldType: 'Personal',
    },
    ...over,
  };
}
