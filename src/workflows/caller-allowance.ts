/**
 * Counts what one caller has started on a day (UTC), so that daily limits hold over all API servers and workers. Ends
 * after a day without reservations; the next reservation starts it again.
 *
 * The handlers are synchronous: the SDK runs them before it continues the workflow in the same activation. So
 * continue-as-new and the end see every reservation that was accepted.
 */
import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import { DAILY_LIMIT_EXCEEDED } from '../contract/failures.ts';
import { formatMoney } from '../contract/money.ts';
import {
  type AllowanceKey,
  type AllowanceRecord,
  type AllowanceState,
  allowanceQuery,
  type ReserveRequest,
  type ReserveResult,
  reserveUpdate,
} from '../contract/workflows.ts';
import { Allowance, reserveProblem } from '../domain/daily-limits.ts';
import { notAccepted } from './shared/messages.ts';
import { carriedOver } from './shared/run-facts.ts';

/** An update takes about five history events, unless all of its reservations are refused. */
const MAX_UPDATES = 200;
/** The history holds each of these. A payload of the largest batch has up to 2 MB. */
const MAX_CHARACTERS = 2_000_000;

export async function callerAllowance(key: AllowanceKey, carried?: AllowanceRecord): Promise<void> {
  const allowance = new Allowance(Date.now(), carriedOver(carried));
  let [updates, characters] = [0, 0];
  const firstDay = allowance.day;
  // A run per day, so that no run keeps its encryption key for long.
  const isOver = () => updates >= MAX_UPDATES || characters >= MAX_CHARACTERS || allowance.day !== firstDay;
  const reserve = (request: ReserveRequest): ReserveResult => {
    updates += 1;
    for (const { payouts } of request.reservations)
      for (const { keys, hundredths } of payouts) characters += keys.length + hundredths.length;
    const answer = allowance.reserveEach(request, Date.now());
    show(allowance.state());
    return answer;
  };
  setHandler(allowanceQuery, () => allowance.state());
  // What the validator refuses is not recorded in the history.
  const validator = (request: ReserveRequest): void => {
    const problem = reserveProblem(request);
    if (problem) throw notAccepted(problem);
    const refused = allowance.refusals(request, Date.now());
    if (refused)
      throw ApplicationFailure.nonRetryable('a daily limit is exceeded', DAILY_LIMIT_EXCEEDED, refused);
  };
  setHandler(reserveUpdate, reserve, { validator });
  show(allowance.state());
  while (Date.now() < allowance.unusedAtMs) {
    await condition(isOver, allowance.unusedAtMs - Date.now(), {
      summary: 'ends after a day without reservations',
    });
    // The responses of updates precede the end of the run.
    await condition(allHandlersFinished);
    if (isOver()) await continueAsNew<typeof callerAllowance>(key, allowance.record());
  }
}

function show({ day, count, sums }: AllowanceState): void {
  setCurrentDetails(`${day} (UTC): ${[`${count} payouts`, ...sums.map(formatMoney)].join(', ')} reserved`);
}
