/** Chosen payouts in forms and addresses: each stands for the payout and for the quote that the page showed. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import type { PayoutStart } from '../client/payouts.ts';
import type { Caller } from '../config/callers.ts';
import type { PayoutState } from '../contract/payout.ts';
import { Problem } from '../service/problem.ts';
import { type PayoutId, payoutId, valid } from '../service/requests.ts';
import type { Service } from '../service/service.ts';
import type { Fields } from './context.ts';

/** In one confirmation: about as many as a person can look through, and as fit into an address. */
export const MOST_PICKS = 100;
/** Far more than so many picks have, and little for a process. */
const MAX_PICKS_BYTES = 64 * 1024;

export interface ReadPayout extends PayoutId, PayoutStart {
  state: PayoutState;
  /** Its first start, which only lists tell. */
  startedAt?: string;
  batch?: string | undefined;
}

export async function readPayout(
  service: Service,
  caller: Caller,
  { app, partnerOrderId, batch }: PayoutId & { batch?: string | undefined },
): Promise<ReadPayout> {
  const id = { app, partnerOrderId };
  const start = await service.payoutStart(caller, id);
  const state = await service.readStatus(caller, () => service.payouts.state(id));
  return { ...id, ...start, batch, state };
}

const pick = z.strictObject({ ...payoutId.shape, lockRateId: z.string().optional() });
export type Picked = z.output<typeof pick>;
const packed = z.array(z.tuple([z.string(), z.string(), z.string().nullable()]));

/** The value of a checkbox. */
export function pickOf({ app, partnerOrderId, state }: ReadPayout): string {
  return JSON.stringify({ app, partnerOrderId, lockRateId: state.quote?.lockRateId });
}

export function pickFields(payouts: readonly ReadPayout[]): Fields {
  return Object.fromEntries(payouts.map((one, at) => [`pick-${at}`, pickOf(one)]));
}

/** Throws a 400 for none, and for too many. */
export function picksIn(fields: unknown): Picked[] {
  const texts = Object.entries(fields ?? {}).flatMap(([name, value]) =>
    /^pick-\d+$/.test(name) ? [value] : [],
  );
  return withinLimit(
    texts.map((text) =>
      valid(
        pick,
        parsed(() => JSON.parse(String(text))),
      ),
    ),
  );
}

/** For an address, which servers and proxies limit to some thousand characters. */
export function packedPicks(picks: readonly Picked[]): string {
  const rows = picks.map(({ app, partnerOrderId, lockRateId = null }) => [app, partnerOrderId, lockRateId]);
  return deflateRawSync(JSON.stringify(rows)).toString('base64url');
}

export function unpackedPicks(text = ''): Picked[] {
  const rows = packed.safeParse(
    parsed(() => {
      const bytes = inflateRawSync(Buffer.from(text, 'base64url'), { maxOutputLength: MAX_PICKS_BYTES });
      return JSON.parse(bytes.toString('utf8'));
    }),
  );
  if (!rows.success) throw new Problem('route-not-found', 'the address of this page is incomplete');
  return withinLimit(
    rows.data.map(([app, partnerOrderId, lockRateId]) =>
      valid(pick, { app, partnerOrderId, ...(lockRateId !== null && { lockRateId }) }),
    ),
  );
}

function withinLimit(picks: Picked[]): Picked[] {
  if (picks.length === 0) throw new Problem('invalid-request', 'choose at least one payout.');
  if (picks.length > MOST_PICKS)
    throw new Problem('invalid-request', `choose at most ${MOST_PICKS} payouts.`);
  return picks;
}

/** Undefined if it can't be read. */
function parsed(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}
