/** Whether stopped payouts are looked for, and ended ones followed up. */
import { ScheduleNotFoundError } from '@temporalio/client';
import { reconciliationId } from '../../../contract/ids.ts';
import type { Session } from '../session.ts';
import { type Check, messageOf, problem, unknown, well } from './check.ts';

export async function reconciliationRuns({ client, soon }: Session, environment: string): Promise<Check> {
  const check = 'reconciliation';
  const id = reconciliationId(environment);
  try {
    const { state, info } = await soon(() => client.schedule.getHandle(id).describe());
    if (state.paused)
      return problem(
        check,
        `its schedule is paused: stopped payouts are not started again${state.note ? ` (${state.note})` : ''}`,
        `temporal schedule toggle --unpause --schedule-id ${id}`,
      );
    const next = info.nextActionTimes[0];
    return well(check, next ? `runs next at ${next.toISOString()}` : 'is scheduled');
  } catch (error) {
    if (error instanceof ScheduleNotFoundError)
      return problem(
        check,
        'its schedule does not exist',
        'a worker sets it up at its start: its log says why not',
      );
    return unknown(check, messageOf(error), `temporal schedule describe --schedule-id ${id}`);
  }
}
