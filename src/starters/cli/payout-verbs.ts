/** The verbs that start, steer and read payouts. */

import { followUpResultOf } from '../../client/acknowledgements.ts';
import { endedPayout, notifyFollowUp } from '../../client/follow-ups.ts';
import type { PayoutRef, Payouts, StartedPayout } from '../../client/payouts.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import type { PayoutResult, PayoutState } from '../../contract/payout.ts';
import type { CheckedPayoutRequest } from '../../contract/payout-request.ts';
import { followUpReasons } from '../../domain/reconciliation-follow-up.ts';
import { isGone } from '../../temporal/client-errors.ts';
import { type Answer, EXIT } from './answer.ts';
import { failureOf } from './failures.ts';
import { statesOf, untilEndOf, untilEnds } from './progress.ts';
import type { Session } from './session.ts';
import { attentionText, colors, facts, grid, money, quoteText, resultText, stateText, wrap } from './text.ts';

/** A row of a list that was not started, or whose result could not be read. Rows count from 0. */
interface FailedRow {
  row: number;
  partnerOrderId: string;
  app: string;
  error: { code: string; message: string };
  exitCode: number;
}

export interface StartOptions {
  wait?: true;
  by?: string;
}

/** Of a list, a row that is refused does not keep the others from starting. Of a single payout, throws its error. */
export async function start(
  session: Session,
  requests: readonly CheckedPayoutRequest[],
  { wait, by: startedBy }: StartOptions,
): Promise<Answer> {
  const begin = (request: CheckedPayoutRequest) =>
    session.withDeadline(() => session.payouts.start(request, { startedBy }));
  const [single, ...more] = requests;
  if (single && more.length === 0) return startedAnswer(session, [await begin(single)], wait);
  const rows: (StartedPayout | FailedRow)[] = [];
  for (const [row, request] of requests.entries()) {
    const before = rows.find((one) => isFailed(one) && one.exitCode !== EXIT.refused);
    if (before && isFailed(before)) rows.push(notTried(row, request, before));
    else rows.push(await begin(request).catch((error: unknown) => failedRow(row, request, error)));
  }
  return startedAnswer(session, rows, wait);
}

async function startedAnswer(
  session: Session,
  rows: readonly (StartedPayout | FailedRow)[],
  wait: true | undefined,
): Promise<Answer> {
  if (wait) return resultsAnswer(await resultsOf(session, rows));
  const started = rows.filter((row): row is StartedPayout => !isFailed(row));
  const table = grid(
    ['payout', 'app', 'workflow', 'run'],
    started.map((one) => [one.partnerOrderId, one.app, one.workflowId, one.runId]),
  );
  return rowsAnswer(rows, started.length > 0 ? [table] : [], EXIT.ok);
}

function resultsAnswer(rows: readonly (PayoutResult | FailedRow)[]): Answer {
  const results = rows.filter((row): row is PayoutResult => !isFailed(row));
  return rowsAnswer(rows, results.map(resultText), exitOf(results));
}

async function resultsOf(
  session: Session,
  rows: readonly (StartedPayout | FailedRow)[],
): Promise<(PayoutResult | FailedRow)[]> {
  const [single, ...more] = rows;
  if (single && more.length === 0 && !isFailed(single))
    return [await untilEndOf(session, single, session.payouts.result(single))];
  return untilEnds(
    rows.map(async (one, row) =>
      isFailed(one) ? one : session.payouts.result(one).catch((error: unknown) => failedRow(row, one, error)),
    ),
  );
}

function rowsAnswer(rows: readonly object[], texts: readonly string[], exitCode: number): Answer {
  const failed = rows.filter(isFailed);
  const cells = failed.map((one) => [
    `${one.row}`,
    one.partnerOrderId,
    wrap(`${one.error.code}: ${one.error.message}`),
  ]);
  const table = failed.length > 0 ? [grid(['row', 'payout', 'error'], cells)] : [];
  const [worst = exitCode] = failed.map((one) => one.exitCode).sort((left, right) => left - right);
  return {
    json: rows.map((row) => (isFailed(row) ? { ...row, exitCode: undefined } : row)),
    text: [...texts, ...table].join('\n\n'),
    exitCode: worst,
  };
}

function isFailed(row: object): row is FailedRow {
  return 'error' in row;
}

function failedRow(
  row: number,
  { partnerOrderId, app }: Pick<StartedPayout, 'partnerOrderId' | 'app'>,
  error: unknown,
): FailedRow {
  const { code, message, exitCode } = failureOf(error);
  return { row, partnerOrderId, app, error: { code, message }, exitCode };
}

function notTried(row: number, { partnerOrderId, app }: CheckedPayoutRequest, before: FailedRow): FailedRow {
  const message = `not tried after the error in row ${before.row}`;
  return { row, partnerOrderId, app, error: { code: 'NOT_TRIED', message }, exitCode: before.exitCode };
}

/** Gets quotes, and checks whether the payouts would accept them. Creates nothing. */
export async function quote(session: Session, requests: readonly CheckedPayoutRequest[]): Promise<Answer> {
  const rows = await Promise.all(
    requests.map(async (request) => {
      const { quote: quoted, problem } = await session.reads.quote(request);
      const { partnerOrderId } = request;
      return { partnerOrderId, quote: quoted, accepted: problem === undefined, ...(problem && { problem }) };
    }),
  );
  const texts = rows.map(({ partnerOrderId, quote: quoted, problem }) =>
    facts([
      ['payout', partnerOrderId],
      ['quote', quoteText(quoted)],
      ['available', money(quoted.available)],
      ['accepted', problem ? `no: ${problem.code}: ${problem.message}` : 'yes'],
    ]),
  );
  return { json: rows, text: texts.join('\n\n') };
}

/** `waitMs`: waits for the end, at most so long. Without `wait`, the exit code does not depend on the outcome. */
export async function status(
  session: Session,
  ref: PayoutRef,
  { wait, waitMs }: { wait?: true; waitMs?: number | undefined } = {},
): Promise<Answer> {
  const { payouts, withDeadline } = session;
  if (wait) {
    const end = waitMs === undefined ? payouts.result(ref) : payouts.untilEnd(ref, { timeoutMs: waitMs });
    await untilEndOf<unknown>(session, ref, end);
  }
  const state = await withDeadline(() => payouts.state(ref));
  const exitCode = wait ? exitOf([state]) : EXIT.ok;
  const followUp =
    state.phase === 'DONE'
      ? await session.withDeadline(() => followUpResultOf(session.client, ref))
      : undefined;
  if (!followUp) return { ...stateAnswer(state), exitCode };
  const lines = [stateText(state), ...followUpReasons(followUp).map(attentionText)];
  if (followUp.lastCheckedAt) lines.push(facts([['last follow-up', followUp.lastCheckedAt]]));
  return { json: { ...state, followUp }, text: lines.join('\n'), exitCode };
}

export async function result(session: Session, ref: PayoutRef): Promise<Answer> {
  return resultAnswer(await untilEndOf(session, ref, session.payouts.result(ref)));
}

function resultAnswer(ended: PayoutResult): Answer {
  return { json: ended, text: resultText(ended), exitCode: exitOf([ended]) };
}

/** Prints the state now and after each change. With `json`, each is one line of JSON. */
export async function watch(session: Session, ref: PayoutRef, json: boolean): Promise<Answer> {
  let shown = '';
  for await (const state of statesOf(session, ref)) {
    const { phase, sentence, reasons } = state;
    const text = [`${phase}  ${sentence}`, ...reasons.map(attentionText)].join('\n');
    const line = json ? JSON.stringify(state) : text;
    if (line !== shown) process.stdout.write(json ? `${line}\n` : `${colors.dim(now())}  ${text}\n`);
    shown = line;
  }
  return { ...resultAnswer(await session.payouts.result(ref)), isPrinted: json };
}

function now(): string {
  return new Date().toISOString();
}

/** Sends an update. */
export async function steer(
  session: Session,
  ref: PayoutRef,
  send: (payouts: Payouts) => Promise<PayoutState>,
): Promise<Answer> {
  const { payouts, withDeadline } = session;
  await requireKeys(session, ref);
  return stateAnswer(await withDeadline(() => send(payouts)));
}

/** Reads the memo. A message that the workers cannot decrypt would leave the payout stuck. */
async function requireKeys({ payouts, withDeadline }: Session, ref: PayoutRef): Promise<void> {
  await withDeadline(() => payouts.handle(ref).describe());
}

export async function notify(
  session: Session,
  ref: PayoutRef,
  content: { orderId?: string | undefined; status?: string | undefined },
): Promise<Answer> {
  const { partnerOrderId } = ref;
  const notification = { receivedAt: new Date().toISOString(), partnerOrderId, ...content };
  const json = { notified: true };
  await requireKeys(session, ref);
  try {
    await session.withDeadline(() => session.payouts.notify(ref, notification));
  } catch (error) {
    if (!isGone(error)) throw error;
    const workflowId = payoutWorkflowId(ref.app ?? 'default', partnerOrderId);
    const ended = await session.withDeadline(() => endedPayout(session.client, workflowId));
    if (!ended) throw error;
    await session.withDeadline(() => notifyFollowUp(session.client, ended, notification));
    return { json, text: 'notified: the payout has ended; its follow-up checks again' };
  }
  return { json, text: 'notified: the payout queries the provider' };
}

function stateAnswer(state: PayoutState): Answer {
  return { json: state, text: stateText(state) };
}

function exitOf(results: readonly Pick<PayoutState, 'outcome'>[]): number {
  return results.every(({ outcome }) => outcome === 'SUCCESS') ? EXIT.ok : EXIT.notPaid;
}
