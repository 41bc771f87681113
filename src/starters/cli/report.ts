/** `report`: the payouts of a day by outcome, their changes after the end, and the open payouts. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '@commander-js/extra-typings';
import { OUTCOMES } from '../../contract/codes.ts';
import type { Money } from '../../contract/money.ts';
import type { DailyReport } from '../../contract/reconciliation.ts';
import { dayBounds } from '../../domain/reconciliation.ts';
import { invalid, long } from './command.ts';
import type { Output } from './output.ts';
import type { Session } from './session.ts';
import { lines, money, table } from './text.ts';

const LOOK_EVERY_MS = 2_000;
/** This many looks in a row: a healthy worker may take over from one that fails. */
const LOOKS_TO_BE_STUCK = 10;

type AppReport = DailyReport['apps'][number];

/** Covers all applications, so it has no --app. */
export function reportCommand(program: Command): void {
  program
    .command('report')
    .description('report the payouts of a day by outcome, later changes, and the open payouts')
    .option('--day <YYYY-MM-DD>', 'the day (UTC); default: today', checkedDay)
    .action(
      long(
        ({ day = new Date().toISOString().slice(0, 10) }) =>
          (session) =>
            report(session, day),
      ),
    );
}

function checkedDay(day: string): string {
  if (dayBounds(day)) return day;
  throw invalid('must be a date such as 2026-01-31');
}

async function report(session: Session, day: string): Promise<Output> {
  const { client, environment = 'test' } = session;
  const { dailyReport, reportWorkflowId } = await import('../../client/reads.ts');
  const ended = new AbortController();
  const isStuck = untilStuck(session, reportWorkflowId(environment, day), ended.signal);
  try {
    const making = session.whileWorkerRuns(() => dailyReport(client, environment, day), ended.signal);
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
  const { isFailing } = await import('../../temporal/failing-workflows.ts');
  for (let failing = 0; failing < LOOKS_TO_BE_STUCK; ) {
    await sleep(LOOK_EVERY_MS, undefined, { signal });
    // The report itself fails if Temporal serves no requests.
    const isFailingNow = await withDeadline(() => isFailing(client, workflowId)).catch(() => false);
    failing = isFailingNow ? failing + 1 : 0;
  }
  const { WorkflowStuckError } = await import('../../temporal/client-errors.ts');
  throw new WorkflowStuckError(workflowId);
}

function textOf(made: DailyReport): string {
  const { environment, day, generatedAt, apps, changes, totalChanges, appsMissingFrom } = made;
  const head = `${environment}, ${day} (UTC), made at ${generatedAt}`;
  if (apps.length === 0) return lines(head, 'no payouts');
  const byOutcome = OUTCOMES.map((outcome) => [outcome, (one: AppReport) => one.outcomes[outcome]] as const);
  const unreadable = apps.reduce((sum, one) => sum + one.unreadable, 0);
  const found = table(changes, {
    payout: ({ partnerOrderId }) => partnerOrderId,
    app: ({ app }) => app,
    returned: ({ returned }) => sums(returned),
    differences: ({ differences }) => differences.join(', '),
  });
  return lines(
    head,
    table(apps, {
      app: ({ app }) => app,
      ...Object.fromEntries(byOutcome),
      flagged: ({ endedFlagged }) => endedFlagged,
      received: ({ received }) => sums(received),
      failed: ({ failed }) => sums(failed),
      returned: ({ returned }) => sums(returned),
      changed: ({ changed }) => changed,
      'not checked': ({ notChecked }) => notChecked,
    }),
    unreadable > 0 && `! ${unreadable} unreadable results are missing from the sums`,
    appsMissingFrom !== undefined &&
      `! the applications from ${appsMissingFrom} on are missing: there are too many`,
    table(apps, {
      'open now': ({ app }) => app,
      'under 1 h': ({ open }) => open.underAnHour,
      '1 h to 1 d': ({ open }) => open.underADay,
      '1 d to 7 d': ({ open }) => open.underAWeek,
      older: ({ open }) => open.older,
      'need attention': ({ open }) => open.needingAttention,
    }),
    found !== '' && `changed after they finished:\n${found}`,
    totalChanges > changes.length && `${totalChanges - changes.length} more are not listed`,
  );
}

function sums(amounts: readonly Money[]): string {
  return amounts.map(money).join('\n');
}
