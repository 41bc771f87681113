/** `list`: payouts, without knowing any. */
import { type ListedPayout, listPayouts, type PayoutFilter } from '../../client/payout-list.ts';
import type { Answer } from './answer.ts';
import { reasonsOf, reasonsText } from './attention.ts';
import { colours } from './colours.ts';
import type { Session } from './session.ts';
import { isSame, standingStill } from './standing-still.ts';
import { grid } from './text.ts';

export async function list(session: Session, filter: PayoutFilter, limit: number): Promise<Answer> {
  const rows: ListedPayout[] = [];
  for await (const row of listPayouts(session.client, filter)) {
    rows.push(row);
    if (rows.length === limit) break;
  }
  const why = filter.attention ? await reasonsWith(session, rows, filter) : undefined;
  const cells = rows.map((row, at) => [
    row.partnerOrderId,
    row.app,
    row.phase,
    row.outcome,
    row.needsAttention ? 'yes' : '',
    row.orderId,
    row.startedAt,
    row.workflow,
    ...(why ? [colours.yellow(reasonsText(why[at]))] : []),
  ]);
  const head = ['payout', 'app', 'phase', 'outcome', 'attention', 'order', 'started', 'workflow'];
  return {
    json: why ? rows.map((row, at) => ({ ...row, reasons: why[at] ?? null })) : rows,
    text: rows.length === 0 ? 'no payouts' : grid(why ? [...head, 'why'] : head, cells),
  };
}

/** Adds what stands still to the rows, unless only some phase or outcome is wanted. One for each row. */
async function reasonsWith(session: Session, rows: ListedPayout[], { phase, outcome, app }: PayoutFilter) {
  const still = phase === undefined && outcome === undefined ? await standingStill(session, app) : [];
  const told = rows.map((row) => still.find((one) => isSame(one.row, row)));
  const asked = rows.filter((_, at) => told[at] === undefined);
  const answers = await reasonsOf(session, asked);
  const reasons = rows.map((row, at) => told[at]?.reasons ?? answers[asked.indexOf(row)]);
  const others = still.filter((one) => !told.includes(one));
  rows.push(...others.map(({ row }) => row));
  return [...reasons, ...others.map((one) => one.reasons)];
}
