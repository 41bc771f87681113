/** The commands that start, steer and read payouts. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { PayoutRef, StartedPayout } from '../../client/payouts.ts';
import { DURATION_RULE, durationMs } from '../../config/durations.ts';
import { EXIT } from '../../contract/errors.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import type { PayoutResult, PayoutState } from '../../contract/payout.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import type { Notification } from '../../contract/workflows.ts';
import { shownStart } from '../../domain/listed-payout.ts';
import { followUpReasons } from '../../domain/reconciliation-follow-up.ts';
import { command, fileCommand, ID, invalid, long, quick, STARTED_BY, YES } from './command.ts';
import { exitCodeOf, type Failure, failureOf, type Output } from './output.ts';
import type { Session } from './session.ts';
import {
  attentionText,
  colors,
  facts,
  lines,
  money,
  quoteText,
  resultText,
  stateText,
  table,
  wrap,
} from './text.ts';

const files = () => import('./files.ts');
const progress = () => import('./progress.ts');
/** A timer of Node has 31 bits of milliseconds. */
const MAX_TIMEOUT_MS = 24 * 86_400_000;

const ref = (partnerOrderId: string, { app }: { app: string }) => ({ app, partnerOrderId });

export function payoutCommands(program: Command): void {
  fileCommand(program, 'start', 'start or join the payouts in FILE (one, or a list; - for standard input)')
    .addOption(YES)
    .option('--dry-run', 'show quotes; create nothing')
    .option('--wait', 'wait for the results')
    .addOption(STARTED_BY)
    .action(
      long(async (file, options) => {
        const { paymentText, requestsOf } = await files();
        const requests = await requestsOf(file, options.app);
        if (options.dryRun) return (session) => quote(session, requests);
        return { change: paymentText(requests), work: (session) => start(session, requests, options) };
      }),
    );
  fileCommand(program, 'quote', 'quote the payouts in FILE').action(
    long(async (file, { app }) => {
      const requests = await (await files()).requestsOf(file, app);
      return (session) => quote(session, requests);
    }),
  );
  command(program, 'status', 'show the state of a payout')
    .addArgument(ID)
    .option('--details', 'also show the request, who started it, and the timeline')
    .option('--wait', 'wait until the payout finishes')
    .addOption(TIMEOUT.argParser(timeoutMs).implies({ wait: true }))
    .action(long((id, options) => (session) => status(session, ref(id, options), options)));
  command(program, 'watch', 'show each change of a payout until it finishes; with --json, one line each')
    .addArgument(ID)
    .action(long((id, options) => (session) => watch(session, ref(id, options))));
  command(program, 'result', 'wait until a payout finishes, and show its result')
    .addArgument(ID)
    .action(
      long((id, options) => async (session) => {
        const payout = ref(id, options);
        const { untilEndOf } = await progress();
        return resultOutput(await untilEndOf(session, payout, session.payouts.result(payout)));
      }),
    );
  command(program, 'notify', 'send a notification; the payout then queries the provider')
    .addArgument(ID)
    .option('--order-id <orderId>', "the provider's order ID")
    .option('--status <status>', 'the status in the notification')
    .action(
      quick((partnerOrderId, { app, ...content }) => (session) => {
        return notify(session, { app, partnerOrderId }, content);
      }),
    );
}

const TIMEOUT = new Option('--timeout <duration>', 'wait at most this long, such as 30s or 10m');

function timeoutMs(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw invalid(DURATION_RULE);
  if (ms > MAX_TIMEOUT_MS) throw invalid('must be at most 24d');
  return ms;
}

/** A row of a list that was not started, or whose result could not be read. Programs count rows from 0, people from 1. */
interface FailedRow {
  row: number;
  partnerOrderId: string;
  app: string;
  error: Pick<Failure, 'code' | 'message'>;
}

type Row<T extends object> = T | FailedRow;

/** In a list, a row that is refused does not keep the others from starting. For a single payout, throws its error. */
async function start(
  session: Session,
  requests: readonly CheckedPayoutRequest[],
  { wait, by: startedBy }: { wait?: true | undefined; by?: string | undefined },
): Promise<Output> {
  const begin = (request: CheckedPayoutRequest) =>
    session.withDeadline(() => session.payouts.start(request, { startedBy }));
  const rows: Row<StartedPayout>[] = [];
  let stoppedBy: FailedRow | undefined;
  for (const [row, request] of requests.entries()) {
    const begun: Row<StartedPayout> = stoppedBy
      ? notTried(row, request, stoppedBy)
      : await begin(request).catch((error: unknown) => {
          if (requests.length === 1) throw error;
          return failedRow(row, request, error);
        });
    if (isFailed(begun) && exitCodeOf(begun.error) !== EXIT.refused) stoppedBy ??= begun;
    rows.push(begun);
  }
  if (wait) {
    const ended = await resultsOf(session, rows);
    const results = ended.filter((row): row is PayoutResult => !isFailed(row));
    return rowsOutput(ended, results.map(resultText), exitOf(results));
  }
  const started = table(
    rows.filter((row): row is StartedPayout => !isFailed(row)),
    {
      payout: ({ partnerOrderId }) => partnerOrderId,
      app: ({ app }) => app,
      workflow: ({ workflowId }) => workflowId,
      run: ({ runId }) => runId,
    },
  );
  return rowsOutput(rows, [started], EXIT.ok);
}

async function resultsOf(
  session: Session,
  rows: readonly Row<StartedPayout>[],
): Promise<Row<PayoutResult>[]> {
  const { untilEndOf, untilEnds } = await progress();
  const [single, ...more] = rows;
  if (single && more.length === 0 && !isFailed(single))
    return [await untilEndOf(session, single, session.payouts.result(single))];
  return untilEnds(
    session,
    rows.map(async (one, row) =>
      isFailed(one) ? one : session.payouts.result(one).catch((error: unknown) => failedRow(row, one, error)),
    ),
  );
}

function rowsOutput(rows: readonly Row<object>[], texts: readonly string[], exitCode: number): Output {
  const failed = rows.filter(isFailed);
  const errors = table(failed, {
    row: ({ row }) => row + 1,
    payout: ({ partnerOrderId }) => partnerOrderId,
    error: ({ error }) => wrap(`${error.code}: ${error.message}`),
  });
  const [worst = exitCode] = failed.map(({ error }) => exitCodeOf(error)).sort((one, other) => one - other);
  return { json: rows, text: [...texts, errors].filter((text) => text !== '').join('\n\n'), exitCode: worst };
}

function isFailed(row: object): row is FailedRow {
  return 'error' in row;
}

async function failedRow(
  row: number,
  { partnerOrderId, app }: Pick<StartedPayout, 'partnerOrderId' | 'app'>,
  error: unknown,
): Promise<FailedRow> {
  const { code, message } = await failureOf(error);
  return { row, partnerOrderId, app, error: { code, message } };
}

function notTried(row: number, { partnerOrderId, app }: CheckedPayoutRequest, before: FailedRow): FailedRow {
  const message = `not tried after the error of ${before.partnerOrderId}`;
  return { row, partnerOrderId, app, error: { code: 'NOT_TRIED', message } };
}

/** Gets quotes, and checks whether the payouts would accept them. Creates nothing. */
async function quote({ reads }: Session, requests: readonly CheckedPayoutRequest[]): Promise<Output> {
  const rows = await Promise.all(
    requests.map(async (request) => {
      const { quote: quoted, problem } = await reads.quote(request);
      const { partnerOrderId } = request;
      return { partnerOrderId, quote: quoted, accepted: problem === undefined, ...(problem && { problem }) };
    }),
  );
  const texts = rows.map(({ partnerOrderId, quote: quoted, problem }) =>
    facts({
      payout: partnerOrderId,
      quote: quoteText(quoted),
      available: money(quoted.available),
      accepted: problem ? `no: ${problem.code}: ${problem.message}` : 'yes',
    }),
  );
  return { json: rows, text: texts.join('\n\n') };
}

/** Without `wait`, the exit code does not depend on the outcome. */
async function status(
  session: Session,
  payout: PayoutRef,
  options: { details?: true | undefined; wait?: true | undefined; timeout?: number | undefined },
): Promise<Output> {
  const { payouts, withDeadline } = session;
  const { wait, timeout } = options;
  if (wait) {
    const { untilEndOf } = await progress();
    const end =
      timeout === undefined ? payouts.result(payout) : payouts.untilEnd(payout, { timeoutMs: timeout });
    await untilEndOf<unknown>(session, payout, end);
  }
  const state = await withDeadline(() => payouts.state(payout));
  const exitCode = wait ? exitOf([state]) : EXIT.ok;
  const followUp = state.phase === 'DONE' ? await session.followUpOf(payout) : undefined;
  const details = options.details && (await detailsOf(session, payout));
  const text = lines(
    stateText(state),
    ...(followUp ? followUpReasons(followUp).map(attentionText) : []),
    followUp && facts({ 'last follow-up': followUp.lastCheckedAt }),
    details && detailsText(details),
  );
  return { json: { ...state, ...(followUp && { followUp }), ...details }, text, exitCode };
}

async function detailsOf({ payouts, withDeadline }: Session, payout: PayoutRef) {
  const start = await withDeadline(() => payouts.startDetails(payout));
  const timeline = await withDeadline(() => payouts.timeline(payout, start));
  return { ...shownStart(start), timeline };
}

function detailsText({ request, startedBy, timeline }: Awaited<ReturnType<typeof detailsOf>>): string {
  const { clientId, payerId, instructedAmount, receiver } = request;
  return lines(
    facts({
      amount: money(instructedAmount),
      beneficiary: receiver.bankAccountName,
      account: `…${receiver.accountEnd}, ${receiver.bankName}`,
      client: clientId,
      payer: payerId,
      'started by': startedBy,
    }),
    ...timeline.steps.map(({ at, what, detail, count }) =>
      lines(
        `${colors.dim(at)}  ${what}${count === undefined ? '' : ` (${count} times)`}`,
        detail && `  ${detail}`,
      ),
    ),
  );
}

/** Prints the state now and after each change. In JSON, each is one line. */
async function watch(session: Session, payout: PayoutRef): Promise<Output> {
  const { statesOf } = await progress();
  const { json, payouts, withDeadline } = session;
  let shown = '';
  for await (const state of statesOf(payouts, payout, withDeadline)) {
    const { phase, sentence, reasons } = state;
    const text = lines(`${phase}  ${sentence}`, ...reasons.map(attentionText));
    const line = json ? JSON.stringify(state) : text;
    const now = new Date().toISOString();
    if (line !== shown) process.stdout.write(json ? `${line}\n` : `${colors.dim(now)}  ${text}\n`);
    shown = line;
  }
  return { ...resultOutput(await payouts.result(payout)), isPrinted: json };
}

async function notify(
  { client, payouts }: Session,
  payout: { app: string; partnerOrderId: string },
  content: Pick<Notification, 'orderId' | 'status'>,
): Promise<Output> {
  const { app, partnerOrderId } = payout;
  const notification = { receivedAt: new Date().toISOString(), partnerOrderId, ...content };
  const json = { notified: true };
  // Reads the memo: a message that the workers cannot decrypt would leave the payout stuck.
  await payouts.handle(payout).describe();
  try {
    await payouts.notify(payout, notification);
  } catch (error) {
    const { isGone } = await import('../../temporal/client-errors.ts');
    if (!isGone(error)) throw error;
    const { endedPayout, notifyFollowUp } = await import('../../client/follow-ups.ts');
    const ended = await endedPayout(client, payoutWorkflowId(app, partnerOrderId));
    if (!ended) throw error;
    await notifyFollowUp(client, ended, notification);
    return { json, text: 'notified: the payout has finished; its follow-up checks again' };
  }
  return { json, text: 'notified: the payout queries the provider' };
}

function resultOutput(ended: PayoutResult): Output {
  return { json: ended, text: resultText(ended), exitCode: exitOf([ended]) };
}

function exitOf(results: readonly Pick<PayoutState, 'outcome'>[]): number {
  return results.every(({ outcome }) => outcome === 'SUCCESS') ? EXIT.ok : EXIT.notPaid;
}
