/** The verbs that look without knowing a payout: lists, and the client's accounts. */
import { appName } from '../../contract/payout-request.ts';
import { OUTCOMES, PHASES } from '../../domain/payout.ts';
import { type Answer, UsageError } from './answer.ts';
import type { Session } from './session.ts';
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
  const rows = [];
  for await (const run of session.client.workflow.list({ query: queryOf(filter) })) {
    const attribute = (name: string) => run.searchAttributes[name]?.[0];
    const text = (name: string) => String(attribute(name) ?? '');
    rows.push({
      partnerOrderId: run.workflowId.split(':').slice(2).join(':'),
      app: text('PayoutApp'),
      phase: text('PayoutPhase'),
      outcome: text('PayoutOutcome'),
      needsAttention: attribute('PayoutNeedsAttention') === true,
      orderId: text('PayoutOrderId'),
      auditStatus: text('PayoutAuditStatus'),
      startedAt: run.startTime.toISOString(),
      workflow: run.status.name,
    });
    if (rows.length === limit) break;
  }
  const cells = rows.map((row) => [
    row.partnerOrderId,
    row.app,
    row.phase,
    row.outcome,
    row.needsAttention ? 'yes' : '',
    row.orderId,
    row.startedAt,
    row.workflow,
  ]);
  const head = ['payout', 'app', 'phase', 'outcome', 'attention', 'order', 'started', 'workflow'];
  return { json: rows, text: rows.length === 0 ? 'no payouts' : grid(head, cells) };
}

/** Only known words get into the query, so there is nothing to escape. */
function queryOf({ phase, outcome, attention, app }: ListFilter): string {
  const parts = [
    "WorkflowType = 'payout'",
    // A payout that went on as new is one payout, shown by its latest run.
    "ExecutionStatus != 'ContinuedAsNew'",
    phase !== undefined && `PayoutPhase = '${oneOf('--phase', phase, PHASES)}'`,
    outcome !== undefined && `PayoutOutcome = '${oneOf('--outcome', outcome, OUTCOMES)}'`,
    attention && 'PayoutNeedsAttention = true',
    app !== undefined && `PayoutApp = '${checkedApp(app)}'`,
  ];
  return parts.filter((part) => typeof part === 'string').join(' AND ');
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
  const head = ['account', 'currency', 'status', 'available', 'frozen'];
  return { json: found, text: found ? grid(head, rows) : 'the client has no account' };
}

export function checkedApp(app: string): string {
  const checked = appName.safeParse(app);
  if (!checked.success) throw new UsageError('--app must be 1 to 32 lower case letters, digits and hyphens');
  return checked.data;
}

function oneOf(option: string, value: string, known: readonly string[]): string {
  if (!known.includes(value)) throw new UsageError(`${option} must be one of ${known.join(', ')}`);
  return value;
}
