/** The payouts of a seed: started and queried throughout the disruptions, and followed to their ends. */
import { setTimeout as sleep } from 'node:timers/promises';
import { benchRequest } from '../bench/pay.ts';
import type { BenchStage } from '../bench/stage.ts';
import type { PayoutState } from '../src/contract/payout.ts';
import type { PayoutRequest } from '../src/contract/payout-request.ts';
import { supervise } from './disrupt.ts';
import { type ChaosPlan, DISRUPTED_MS, type PlannedPayout } from './plan.ts';

const ENDS_WITHIN_MS = 180_000;
const QUERY_EVERY_MS = 1_000;
const PERSON = 'chaos';

export function requestsOf({ payouts }: ChaosPlan): PayoutRequest[] {
  return payouts.map(requestFor);
}

function requestFor(
  { partnerOrderId, scenario, amount, bankAccountNumber }: PlannedPayout,
  at: number,
): PayoutRequest {
  const request = benchRequest(at, 'default', scenario);
  return {
    ...request,
    partnerOrderId,
    clientId: `client-${at % 5}`,
    // The largest amounts take most of an account's balance.
    payerId: `payer-${at}`,
    instructedAmount: { currency: 'CNY', amount },
    receiver: { ...request.receiver, bankAccountNumber },
  };
}

/** Spreads the starts over most of the disruptions, so that each disruption finds payouts in every phase. */
export async function startOneByOne(
  { payouts }: BenchStage,
  requests: readonly PayoutRequest[],
): Promise<void> {
  const apartMs = (0.8 * DISRUPTED_MS) / requests.length;
  await Promise.all(
    requests.map(async (request, at) => {
      await sleep(at * apartMs);
      await untilStarted(() => payouts.start(request));
    }),
  );
}

/** A start whose answer was lost is repeated: it joins the existing payout. */
export async function untilStarted(start: () => Promise<unknown>): Promise<void> {
  const untilMs = performance.now() + ENDS_WITHIN_MS;
  for (;;) {
    try {
      await start();
      return;
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await sleep(QUERY_EVERY_MS);
    }
  }
}

export interface Ends {
  ended: PayoutRequest[];
  /** What is known of a payout that has not ended. */
  late: { request: PayoutRequest; why: string }[];
  /** The number of payouts that a person had to decide on. */
  reviewed: number;
}

interface Followed {
  request: PayoutRequest;
  state?: PayoutState | undefined;
  /** The last decision that was rejected, and the reason. */
  refusal?: string | undefined;
}

/** Where a person has to decide, this program does, from the provider's ledger. */
export async function untilAllEnd(
  stage: BenchStage,
  requests: readonly PayoutRequest[],
  { withoutOrder }: ChaosPlan,
): Promise<Ends> {
  const untilMs = performance.now() + ENDS_WITHIN_MS;
  const reviewed = new Set<string>();
  const ended: PayoutRequest[] = [];
  let open: Followed[] = requests.map((request) => ({ request }));
  while (open.length > 0 && performance.now() < untilMs) {
    await supervise(stage);
    const closed = await Promise.all(open.map(({ request }) => isClosed(stage, request)));
    ended.push(...open.filter((_, at) => closed[at]).map(({ request }) => request));
    open = open.filter((_, at) => !closed[at]);
    await Promise.all(
      open.map(async (followed) => {
        const { request } = followed;
        followed.state = await stage.payouts.state(request).catch(() => followed.state);
        if (followed.state?.phase !== 'NEEDS_REVIEW') return;
        reviewed.add(request.partnerOrderId);
        followed.refusal = await decide(stage, request, withoutOrder, followed.state);
      }),
    );
    if (open.length > 0) await sleep(QUERY_EVERY_MS);
  }
  const late = open.map(({ request, state, refusal }) => ({ request, why: whyLate(state, refusal) }));
  return { ended, late, reviewed: reviewed.size };
}

/** Closed in any way: with an outcome, or as no payout may be. */
async function isClosed({ payouts }: BenchStage, request: PayoutRequest): Promise<boolean> {
  try {
    const { status } = await payouts.handle(request).describe();
    return status.name !== 'RUNNING';
  } catch {
    return false;
  }
}

/** Decides on a payout in review from the provider's ledger, as a person does. Returns why the decision was rejected. */
export async function decide(
  { payouts, simulator }: Pick<BenchStage, 'payouts' | 'simulator'>,
  request: PayoutRequest,
  withoutOrder: ChaosPlan['withoutOrder'],
  { sends, reviewedOrderIds }: PayoutState,
): Promise<string | undefined> {
  const { orders } = await simulator.ledgerOf(request.partnerOrderId);
  const [order] = orders;
  const by = PERSON;
  try {
    await payouts.resolve(
      request,
      order
        ? { by, created: true, orderId: order.orderId }
        : { by, created: false, then: withoutOrder, sends, reviewedOrderIds },
    );
    return undefined;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return cause instanceof Error ? cause.message : String(cause);
  }
}

function whyLate(state: PayoutState | undefined, refusal: string | undefined): string {
  if (!state) return 'its state cannot be read';
  const reasons = state.reasons.map(({ code, message }) => `${code}: ${message}`).join('; ');
  const refused = refusal === undefined ? '' : `; the last decision was rejected: ${refusal}`;
  return `${state.phase}, ${reasons || 'no reason given'}${refused}`;
}

/** As callers and operators do, throughout the disruptions. */
export async function queryStates(
  { payouts }: BenchStage,
  requests: readonly PayoutRequest[],
): Promise<void> {
  const untilMs = performance.now() + DISRUPTED_MS;
  while (performance.now() < untilMs) {
    await Promise.all([
      sleep(2 * QUERY_EVERY_MS),
      ...requests.map((request) => payouts.state(request).catch(() => undefined)),
    ]);
  }
}
