/**
 * The part of Temporal Schedules that the product uses: an interval or a time of day, the time for which a run was
 * scheduled, and the result of the last run that completed. There is no second run while one is open.
 */

import type { PlannedEvent } from '../engine/event-queue.ts';
import type { Api } from '../sdk.ts';
import { grpcError, notFound } from './errors.ts';
import { payload } from './markers.ts';
import type { Run } from './run.ts';
import type { Temporal } from './temporal.ts';
import { durationMs } from './time.ts';

export type Schedule = Api.api.schedule.v1.ISchedule;

interface ScheduleState {
  schedule: Schedule;
  planned: PlannedEvent | undefined;
  last: Run | undefined;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

export class Schedules {
  private readonly server: Temporal;
  private readonly states = new Map<string, ScheduleState>();

  constructor(server: Temporal) {
    this.server = server;
  }

  create(id: string, schedule: Schedule): void {
    if (this.states.has(id)) throw grpcError('ALREADY_EXISTS', `schedule ${id} is already registered`);
    const state: ScheduleState = { schedule, planned: undefined, last: undefined };
    this.states.set(id, state);
    this.plan(state);
  }

  find(id: string): Schedule {
    return this.stateOf(id).schedule;
  }

  update(id: string, schedule: Schedule): void {
    const state = this.stateOf(id);
    state.schedule = schedule;
    if (state.planned) state.planned.canceled = true;
    this.plan(state);
  }

  private stateOf(id: string): ScheduleState {
    const state = this.states.get(id);
    if (!state) throw notFound(`schedule ${id}`);
    return state;
  }

  private plan(state: ScheduleState): void {
    const { world } = this.server;
    state.planned = world.at(untilNextMs(state.schedule, world.now), () => {
      this.trigger(state);
      this.plan(state);
    });
  }

  private trigger(state: ScheduleState): void {
    const { startWorkflow: action } = state.schedule.action ?? {};
    if (!action || (state.last && this.server.latest(state.last.workflowId)?.isRunning)) return;
    const at = new Date(this.server.world.now).toISOString().replace(/\.\d+Z$/, 'Z');
    const { run } = this.server.start({
      workflowId: `${action.workflowId}-${at}`,
      started: {
        workflowType: action.workflowType ?? null,
        taskQueue: action.taskQueue ?? null,
        input: action.input ?? null,
        memo: action.memo ?? null,
        searchAttributes: {
          indexedFields: {
            ...action.searchAttributes?.indexedFields,
            TemporalScheduledStartTime: payload(at),
          },
        },
        lastCompletionResult: this.lastResult(`${action.workflowId}-`),
        identity: 'temporal-scheduler',
      },
    });
    state.last = run;
  }

  /** From the runs, because a restore of the server forgets some of them. */
  private lastResult(idPrefix: string) {
    const results = this.server.runs.flatMap(({ workflowId, entries }) => {
      const { workflowExecutionCompletedEventAttributes: completed } = entries.at(-1)?.event ?? {};
      return completed && workflowId.startsWith(idPrefix) ? [completed.result ?? null] : [];
    });
    return results.at(-1) ?? null;
  }
}

function untilNextMs({ spec }: Schedule, now: number): number {
  const every = durationMs(spec?.interval?.[0]?.interval);
  if (every !== undefined) return every - (now % every);
  const [daily] = spec?.structuredCalendar ?? [];
  if (!daily) throw grpcError('UNIMPLEMENTED', 'only intervals and times of day are simulated');
  const at = (daily.hour?.[0]?.start ?? 0) * HOUR_MS + (daily.minute?.[0]?.start ?? 0) * MINUTE_MS;
  return DAY_MS - ((now - at) % DAY_MS);
}
