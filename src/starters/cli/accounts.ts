/** The verbs below `account`. */
import type { ReceivingAccounts } from '../../client/receiving-accounts.ts';
import type { ReceivingAccountRequest, ReceivingAccountState } from '../../contract/receiving-account.ts';
import { type Answer, EXIT } from './answer.ts';
import type { Session } from './session.ts';
import { attentionText, facts, grid, money } from './text.ts';

export async function clientAccounts(
  session: Session,
  app: string,
  clientId: string,
  openId: string | undefined,
): Promise<Answer> {
  const found = await session.reads.accounts(app, clientId, openId);
  if (!found) return { json: found, text: 'the client has no account' };
  const rows = found.accounts.map((one) => [
    one.accountType,
    one.currency,
    one.status,
    money(one.available),
    money(one.frozen),
  ]);
  for (const { accountType, currency } of found.unread ?? [])
    rows.push([accountType ?? '?', currency ?? '?', 'unreadable', '', '']);
  return { json: found, text: grid(['account', 'currency', 'status', 'available', 'frozen'], rows) };
}

export async function open(
  session: Session,
  body: ReceivingAccountRequest,
  wait: boolean,
  by: string | undefined,
): Promise<Answer> {
  const started = await session.withDeadline(() => session.receivingAccounts.open(body, { startedBy: by }));
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
  return { ...requestAnswer(result), exitCode: result.outcome === 'OPENED' ? EXIT.ok : EXIT.notPaid };
}

/** Reads a request, or sends it an update. */
export async function request(
  { receivingAccounts, withDeadline }: Session,
  call: (requests: ReceivingAccounts) => Promise<ReceivingAccountState>,
): Promise<Answer> {
  return requestAnswer(await withDeadline(() => call(receivingAccounts)));
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
  const message = 'the provider has no such account';
  return { json: { error: { code: 'NOT_FOUND', message } }, text: message, exitCode: EXIT.notFound };
}

function requestAnswer(state: Partial<ReceivingAccountState>): Answer {
  const { reason, candidates, account, reasons = [] } = state;
  const lines = facts([
    ['request', state.requestId],
    ['phase', state.phase],
    ['state', state.sentence],
    ['next step', state.nextStep],
    ['outcome', state.outcome],
    ['reason', reason && `${reason.code}: ${reason.message}`],
    ['account', state.accountId],
    ['currency', state.currency],
    ['candidates', candidates?.join(', ')],
    ['requests sent', state.sends?.toString()],
    ['last query', state.lastAskedAt],
  ]);
  const parts = [lines, account && recordText(account), ...reasons.map(attentionText)];
  return { json: state, text: parts.filter((part) => part).join('\n') };
}

/** All fields of the provider's record. */
function recordText(record: Record<string, unknown>): string {
  return facts(
    Object.entries(record).map(([name, value]) => [
      `  ${name}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
