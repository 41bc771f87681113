/** What the verbs of `account` do. */

import type { OpeningRef } from '../../client/receiving-accounts.ts';
import type { OpeningResolution } from '../../contract/receiving-account-messages.ts';
import { openingText, recordText } from './account-text.ts';
import { type Answer, EXIT } from './answer.ts';
import type { Session } from './session.ts';
import { facts, grid, money } from './text.ts';

export async function clientAccounts(
  session: Session,
  app: string,
  clientId: string,
  openId: string | undefined,
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

export async function open(
  session: Session,
  body: unknown,
  wait: boolean,
  by: string | undefined,
): Promise<Answer> {
  const started = await session.soon(() => session.receivingAccounts.open(body, { startedBy: by }));
  const { requestId, app, workflowId, runId } = started;
  if (!wait) {
    const lines = facts([
      ['request', requestId],
      ['app', app],
      ['workflow', workflowId],
      ['run', runId],
    ]);
    return { json: started, text: lines };
  }
  const result = await session.receivingAccounts.result(started);
  const exitCode = result.outcome === 'OPENED' ? EXIT.ok : EXIT.notPaid;
  return { json: result, text: openingText(result), exitCode };
}

export async function status(session: Session, ref: OpeningRef): Promise<Answer> {
  const state = await session.soon(() => session.receivingAccounts.state(ref));
  return { json: state, text: openingText(state) };
}

export async function resolve(
  session: Session,
  ref: OpeningRef,
  resolution: OpeningResolution,
): Promise<Answer> {
  const state = await session.soon(() => session.receivingAccounts.resolve(ref, resolution));
  return { json: state, text: openingText(state) };
}

export async function balance(
  session: Session,
  app: string,
  { payerId, currency, openId }: { payerId: string; currency: string; openId?: string | undefined },
): Promise<Answer> {
  const found = await session.reads.receivingBalance(app, payerId, currency, openId);
  const lines = facts([
    ['balance', money(found.balance)],
    ['accounts', found.accountIds.join(', ') || 'none'],
  ]);
  return { json: found, text: lines };
}

export async function detail(
  session: Session,
  app: string,
  accountId: string,
  openId: string | undefined,
): Promise<Answer> {
  const found = await session.reads.receivingDetail(app, accountId, openId);
  if (found) return { json: found, text: recordText(found) };
  return {
    json: { error: { code: 'NOT_FOUND', message: 'the payments service knows no such account' } },
    text: 'the payments service knows no such account',
    exitCode: EXIT.notFound,
  };
}
