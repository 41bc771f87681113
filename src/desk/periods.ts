/** The periods that people choose most. Days begin at midnight, UTC. */
import { DAY_MS, dayOf } from '../domain/time.ts';

export interface Period {
  name: string;
  /** `YYYY-MM-DD`. */
  from: string;
  /** The day after the last one. */
  to: string;
}

export function periodsOf(nowMs: number): readonly [today: Period, ...others: Period[]] {
  const today = dayOf(nowMs);
  const tomorrow = dayOf(nowMs + DAY_MS);
  const month = `${today.slice(0, 8)}01`;
  const lastMonth = `${dayOf(Date.parse(month) - DAY_MS).slice(0, 8)}01`;
  return [
    { name: 'Today', from: today, to: tomorrow },
    { name: 'Yesterday', from: dayOf(nowMs - DAY_MS), to: today },
    { name: 'Last 7 days', from: dayOf(nowMs - 6 * DAY_MS), to: tomorrow },
    { name: 'This month', from: month, to: tomorrow },
    { name: 'Last month', from: lastMonth, to: month },
  ];
}
