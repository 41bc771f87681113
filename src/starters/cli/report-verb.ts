/** `report`: the payouts of a day by outcome, their changes after the end, and the open payouts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { dailyReport, reportWorkflowId } from '../../client/reads.ts';
import { OUTCOMES } from '../../contract/codes.ts';
import type { Money } from '../../contract/money.ts';
import type { DailyReport } from '../../contract/reconciliation.ts';
import { isFailing } from '../../temporal/failing-workflows.ts';
import { WorkflowStuckError } from '../../temporal/queries.ts';
import type { Answer } from './answer.ts';
import type { Session } from './session.ts';
import { grid, money } from './text.ts';

const LOOK_EVERY_MS = 2_000;
/** As many looks in a row: a healthy worker may take over from one that fails. */
const LOOKS_TO_BE_STUCK = 10;

export async function report(session: Session, day: string): Promise<Answer> {
  const environment = session.environment ?? 'test';
  const ended = new AbortController();
  const isStuck = untilStuck(session, reportWorkflowId(environment, day), ended.signal);
  try {
    const making = session.client.withAbortSignal(ended.signal, () =>
      dailyReport(session.client, environment, day),
    );
    const made = await Promise.race([making, isStuck]);
    return { json: made, text: textOf(made) };
  } finally {
    ended.abort();
  }
}

/** Rejects when the workflow is stuck. A stuck report would be waited for until it times out. */
async function untilStuck(
  { client, withDeadline }: Session,
  workflowId: string,
  signal: AbortSignal,
): Promise<never> {
  for (let failing = 0; failing < LOOKS_TO_BE_STUCK; ) {
    await sleep(LOOK_EVERY_MS, undefined, { signal });
    // The report itself fails if Temporal serves no requests.
    const isFailingNow = await withDeadline(() => isFailing(client, workflowId)).catch(() => false);
    failing = isFailingNow ? failing + 1 : 0;
  }
  throw new WorkflowStuckError(workflowId);
}

function textOf(made: DailyReport): string {
  const { environment, day, generatedAt, apps, changes, totalChanges, appsMissingFrom } = made;
  const head = `${environment}, ${day} (UTC), made at ${generatedAt}`;
  if (apps.length === 0) return `${head}\nno payouts`;
  const ended = grid(
    ['app', ...OUTCOMES, 'flagged', 'received', 'failed', 'returned', 'changed', 'not checked'],
    apps.map((one) => [
      ...[one.app, ...OUTCOMES.map((outcome) => one.outcomes[outcome]), one.endedFlagged].map(String),
      ...[one.received, one.failed, one.returned].map(sums),
      ...[one.changed, one.notChecked].map(String),
    ]),
  );
  const open = grid(
    ['open now', 'under 1 h', '1 h to 1 d', '1 d to 7 d', 'older', 'need attention'],
    apps.map(({ app, open: { underAnHour, underADay, underAWeek, older, needingAttention } }) =>
      [app, underAnHour, underADay, underAWeek, older, needingAttention].map(String),
    ),
  );
  const found = grid(
    ['payout', 'app', 'returned', 'differences'],
    changes.map((one) => [one.partnerOrderId, one.app, sums(one.returned), one.differences.join(', ')]),
  );
  const more = totalChanges > changes.length ? `${totalChanges - changes.length} more are not listed` : '';
  const unreadable = apps.reduce((sum, one) => sum + one.unreadable, 0);
  return [
    head,
    ended,
    unreadable > 0 && `! ${unreadable} unreadable results are missing from the sums`,
    appsMissingFrom !== undefined &&
      `! the applications from ${appsMissingFrom} on are missing: there are too many`,
    open,
    changes.length > 0 && `changed after the end:\n${found}`,
    more,
  ]
    .filter((part) => typeof part === 'string' && part !== '')
    .join('\n');
}

function sums(amounts: readonly Money[]): string {
  return amounts.map(money).join('\n');
}
