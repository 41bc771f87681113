/** The verbs that look without knowing a payout: lists, and the client's accounts. */
import { appName } from '../../contract/payout-request.ts';
import { OUTCOMES, PHASES } from '../../domain/payout.ts';
import { type ListedPayout, listPayouts, type PayoutFilter } from '../payout-list.ts';
import { type Answer, UsageError } from './answer.ts';
import { reasonsOf, reasonsText } from './attention.ts';
import { colours } from './colours.ts';
import type { Session } from './session.ts';
import { isSame, standingStill } from './standing-still.ts';
import { grid, money } from './text.ts';

export interface ListFilter {
  phase?: string | undefined;
  outcome?: string | undefined;
  attention?: boolean | undefined;
  app?: string | undefined;
  limit: string;
}

export async function list(session: Session, filter: ListFilter): Promise<Answer> {
  const limit = Number(filter.limit);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit must be a whole number from 1');
  const rows: ListedPayout[] = [];
  for await (const row of listPayouts(session.client, checkedFilter(filter))) {
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
async function reasonsWith(session: Session, rows: ListedPayout[], { phase, outcome, app }: ListFilter) {
  const still = phase === undefined && outcome === undefined ? await standingStill(session, app) : [];
  const told = rows.map((row) => still.find((one) => isSame(one.row, row)));
  const asked = rows.filter((_, at) => told[at] === undefined);
  const answers = await reasonsOf(session, asked);
  const reasons = rows.map((row, at) => told[at]?.reasons ?? answers[asked.indexOf(row)]);
  const others = still.filter((one) => !told.includes(one));
  rows.push(...others.map(({ row }) => row));
  return [...reasons, ...others.map((one) => one.reasons)];
}

function checkedFilter({ phase, outcome, attention, app }: ListFilter): PayoutFilter {
  return {
    phase: oneOf('--phase', phase, PHASES),
    outcome: oneOf('--outcome', outcome, OUTCOMES),
    attention,
    app: app === undefined ? undefined : checkedApp(app),
  };
}

export async function clientAccounts(
  session: Session,
  { app, clientId, openId }: { app: string; clientId: string; openId?: string | undefined },
): Promise<Answer> {
  const found = await session.reads.accounts(app, clientId, openId);
  const rows = (found?.accounts ?? []).map((one) => [
    one.accountType,
    one.currency,
    one.status,
    money(one.available),
    money(one.frozen),
  ]);
  for (const { accountType, currency } of found?.unread ?? [])
    rows.push([accountType ?? '?', currency ?? '?', 'cannot be read', '', '']);
  const head = ['account', 'currency', 'status', 'available', 'frozen'];
  return { json: found, text: found ? grid(head, rows) : 'the client has no account' };
}

export function checkedApp(app: string): string {
  const checked = appName.safeParse(app);
  if (!checked.success) throw new UsageError('--app must be 1 to 32 lower case letters, digits and hyphens');
  return checked.data;
}

function oneOf<T extends string>(
  option: string,
  value: string | undefined,
  known: readonly T[],
): T | undefined {
  const found = known.find((word) => word === value);
  if (value !== undefined && found === undefined)
    throw new UsageError(`${option} must be one of ${known.join(', ')}`);
  return found;
}
