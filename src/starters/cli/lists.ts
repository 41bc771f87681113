/** `list`: payouts by phase, outcome, application or attention flag, with the reasons of flags. And pages of any list. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { AttentionCode, AttentionOf } from '../../contract/attention-codes.ts';
import { OUTCOMES, PHASES } from '../../contract/codes.ts';
import { payoutOf, payoutOfFollowUp } from '../../contract/ids.ts';
import type { ListedPayout, PageRequest, PayoutFilter } from '../../contract/lists.ts';
import { formatMoney } from '../../contract/money.ts';
import {
  describeFailingWorkflow,
  type FailingWorkflow,
  WORKFLOW_TASK_FAILS,
} from '../../domain/reconciliation.ts';
import { followUpReasons } from '../../domain/reconciliation-follow-up.ts';
import { inParallel } from '../../runtime/runtime.ts';
import { ANY_APP, LIMIT, long, time } from './command.ts';
import type { Output } from './output.ts';
import type { Session } from './session.ts';
import { colors, lines, pausedText, table, wrap } from './text.ts';

const COLUMNS = {
  payout: ({ partnerOrderId }) => partnerOrderId,
  app: ({ app }) => app,
  amount: ({ instructedAmount }) => (instructedAmount ? formatMoney(instructedAmount) : ''),
  received: ({ received }) => (received ? formatMoney(received) : ''),
  returned: ({ returned }) => (returned ? formatMoney(returned) : ''),
  beneficiary: ({ beneficiary = '' }) => beneficiary,
  account: ({ accountEnd }) => (accountEnd === undefined ? '' : `…${accountEnd}`),
  client: ({ clientId = '' }) => clientId,
  payer: ({ payerId = '' }) => payerId,
  starter: ({ startedBy = '' }) => startedBy,
  batch: ({ batch = '' }) => batch,
  phase: ({ phase }) => phase,
  outcome: ({ outcome }) => outcome,
  attention: ({ needsAttention }) => (needsAttention ? 'yes' : ''),
  order: ({ orderId }) => orderId,
  started: ({ startedAt }) => startedAt,
  workflow: ({ workflow }) => workflow,
} satisfies Record<string, (row: ListedPayout) => string>;
type Columns<Row> = Readonly<Record<string, (row: Row) => string>>;
const NONE = 'no payouts';
/** As in `pageRequestSchema`, whose module loads schemas. */
const MAX_PAGE_SIZE = 100;
const MAX_CONCURRENT_QUERIES = 20;

export function listCommand(program: Command): void {
  paged(program.command('list'))
    .description('list payouts by phase, outcome, attention flag or time')
    .addOption(new Option('--phase <phase>', 'such as PROCESSING').choices(PHASES))
    .addOption(new Option('--outcome <outcome>', 'such as FAILED').choices(OUTCOMES))
    .option('--attention', 'only payouts with the attention flag')
    .option('--client-id <id>', 'only payouts of this client')
    .option('--payer-id <id>', 'only payouts of this payer')
    .option('--batch <id>', 'only payouts that this batch started')
    .option('--amount <amount>', 'only payouts of exactly this amount, such as "100.00 CNY"')
    .option('--beneficiary <name>', "only payouts to this name; case doesn't matter")
    .option('--beneficiary-words <words>', 'only payouts to names with all of these words')
    .option('--account <number>', 'only payouts to this account, by its whole number')
    .option('--account-end <characters>', 'only payouts to accounts whose numbers end with these four')
    .option('--metadata <pair...>', 'only payouts with these pairs, each as KEY=VALUE')
    .action(
      long(
        ({ limit, cursor, ...filter }) =>
          (session) =>
            list(session, filter, { limit, cursor }),
      ),
    );
}

/** Adds the options that every list has. */
export function paged(command: Command) {
  return command
    .addOption(ANY_APP)
    .option('--created-from <time>', 'created at this time or day (UTC) or later', time)
    .option('--created-to <time>', 'created before this time or day (UTC)', time)
    .addOption(LIMIT)
    .option('--cursor [cursor]', 'the next page after this cursor; without a cursor, the first page');
}

/** Which rows of a list to show. */
export interface Page {
  limit: number;
  /** True: the first page. If set, JSON has the cursor of the next page. */
  cursor?: string | true | undefined;
}

interface Rows<Row> {
  rows: Row[];
  nextCursor?: string | undefined;
}

/** The rows of `page`, which may need several requests. */
export async function collect<Name extends string, Row>(
  name: Name,
  { limit, cursor }: Page,
  request: (page: PageRequest) => Promise<Record<Name, Row[]> & { nextCursor?: string }>,
): Promise<Rows<Row>> {
  const rows: Row[] = [];
  for (let from = cursor === true ? undefined : cursor; ; ) {
    const next = await request({ limit: Math.min(limit - rows.length, MAX_PAGE_SIZE), cursor: from });
    rows.push(...next[name]);
    from = next.nextCursor;
    if (from === undefined) return { rows };
    if (rows.length >= limit) return { rows, nextCursor: from };
  }
}

/** `name`: the key of the rows in JSON, as in the responses of the API server. */
export function listOutput(
  name: string,
  { cursor }: Page,
  { rows, nextCursor }: Rows<object>,
  text: string,
): Output {
  const page = { [name]: rows, ...(nextCursor !== undefined && { nextCursor }) };
  return {
    json: cursor === undefined ? rows : page,
    text,
    hint: nextCursor && `more: repeat the command with --cursor ${nextCursor}`,
  };
}

/** `reasons` is null if no worker responds. */
type FlaggedRow = ListedPayout & { reasons: AttentionOf<AttentionCode>[] | null };

async function list(session: Session, filter: PayoutFilter, page: Page): Promise<Output> {
  const { payouts, withDeadline } = session;
  const { rows, nextCursor } = await collect('payouts', page, (request) =>
    withDeadline(() => payouts.listPage(filter, request)),
  );
  const pauses = await pauseLines(session, filter.app);
  const output = (shown: object[], text: string) =>
    listOutput('payouts', page, { rows: shown, nextCursor }, lines(text, ...pauses));
  if (!filter.attention) return output(rows, tableOf(rows, COLUMNS));
  const flagged = await flaggedRows(session, rows, filter, typeof page.cursor !== 'string');
  const columns = { ...COLUMNS, reasons: (row: FlaggedRow) => colors.yellow(reasonsText(row)) };
  return output(flagged, tableOf(flagged, columns));
}

/** Without the columns that no row fills. */
function tableOf<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  const filled = Object.entries(columns).filter(([, cell]) => rows.some((row) => cell(row) !== ''));
  return table(rows, Object.fromEntries(filled), NONE);
}

/** Why payouts wait, below the list. */
async function pauseLines(session: Session, app: string | undefined): Promise<string[]> {
  try {
    const known = await session.withDeadline(() => session.pauses.list());
    return known
      .filter((one) => app === undefined || one.app === app)
      .flatMap((one) => pausedText(one) ?? [])
      .map(colors.yellow);
  } catch {
    return [colors.yellow('whether an application is paused could not be read')];
  }
}

function reasonsText({ reasons }: FlaggedRow): string {
  if (reasons === null) return 'no worker responds';
  return reasons.map(({ code, message }) => wrap(`${code}: ${message}`)).join('\n');
}

/**
 * Adds reasons to `rows` and, on the first page, stuck workflows unless the filter selects a phase or an outcome, or searches.
 */
async function flaggedRows(
  session: Session,
  rows: readonly ListedPayout[],
  filter: PayoutFilter,
  isFirstPage: boolean,
): Promise<FlaggedRow[]> {
  const { app, attention: _attention, createdFrom: _from, createdTo: _to, ...selection } = filter;
  const isAnyStuck = Object.values(selection).every((one) => one === undefined);
  const stuck = isAnyStuck ? await stuckRows(session, app) : [];
  const flagged = await inParallel(
    rows,
    async (row) =>
      stuck.find((one) => isSameWorkflow(one, row)) ?? { ...row, ...(await reasonsOf(session, row)) },
    MAX_CONCURRENT_QUERIES,
  );
  const others = stuck.filter((one) => isFirstPage && !rows.some((row) => isSameWorkflow(one, row)));
  return [...flagged, ...others];
}

async function reasonsOf(session: Session, row: ListedPayout): Promise<Pick<FlaggedRow, 'reasons'>> {
  const { payouts, withDeadline, followUpOf } = session;
  try {
    if (row.phase !== 'FOLLOW_UP') return { reasons: (await withDeadline(() => payouts.state(row))).reasons };
    const followUp = await followUpOf(row);
    return { reasons: followUp ? followUpReasons(followUp) : null };
  } catch (error) {
    const { WorkflowStuckError } = await import('../../temporal/client-errors.ts');
    const isStuck = error instanceof WorkflowStuckError;
    return { reasons: isStuck ? [{ code: WORKFLOW_TASK_FAILS, message: error.message }] : null };
  }
}

/** The stuck workflows of `app`, or of all applications, and those that belong to no payout. */
async function stuckRows(
  { client, environment = 'test', withDeadline }: Session,
  app: string | undefined,
): Promise<FlaggedRow[]> {
  const { knownFailingWorkflows } = await import('../../temporal/failing-workflows.ts');
  const failing = await withDeadline(() => knownFailingWorkflows(client, environment));
  const rows = (failing ?? []).map(stuckRow);
  return rows.filter((row) => app === undefined || row.app === '' || row.app === app);
}

function isSameWorkflow(one: ListedPayout, other: ListedPayout): boolean {
  const isFollowUp = ({ phase }: ListedPayout) => phase === 'FOLLOW_UP';
  return (
    one.partnerOrderId === other.partnerOrderId &&
    one.app === other.app &&
    isFollowUp(one) === isFollowUp(other)
  );
}

function stuckRow(one: FailingWorkflow): FlaggedRow {
  const { workflowId, type } = one;
  const payout = payoutOf(workflowId) ?? payoutOfFollowUp(workflowId);
  return {
    partnerOrderId: payout?.partnerOrderId ?? workflowId,
    app: payout?.app ?? '',
    phase: type === 'payoutFollowUp' ? 'FOLLOW_UP' : '',
    outcome: '',
    needsAttention: true,
    orderId: '',
    auditStatus: '',
    startedAt: '',
    workflow: 'RUNNING',
    reasons: [{ code: WORKFLOW_TASK_FAILS, message: `${workflowId}: ${describeFailingWorkflow(one)}` }],
  };
}
