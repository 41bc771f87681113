/** Temporal Schedules, as far as the product uses them: an interval or a time of day; a run that is still open is not doubled. */
import type { Api } from '../sdk.ts';
import type { Planned } from '../world/event-queue.ts';
import { grpcError, notFound } from './errors.ts';
import type { Run } from './run.ts';
import type { Temporal } from './temporal.ts';
import { durationMs } from './time.ts';

export type Schedule = Api.api.schedule.v1.ISchedule;

interface Kept {
  schedule: Schedule;
  planned: Planned | undefined;
  last: Run | undefined;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

export class Schedules {
  private readonly server: Temporal;
  private readonly kept = new Map<string, Kept>();

  constructor(server: Temporal) {
    this.server = server;
  }

  create(id: string, schedule: Schedule): void {
    if (this.kept.has(id)) throw grpcError('ALREADY_EXISTS', `schedule ${id} is already registered`);
    const kept: Kept = { schedule, planned: undefined, last: undefined };
    this.kept.set(id, kept);
    this.plan(kept);
  }

  find(id: string): Schedule {
    return this.keptAs(id).schedule;
  }

  update(id: string, schedule: Schedule): void {
    const kept = this.keptAs(id);
    kept.schedule = schedule;
    if (kept.planned) kept.planned.cancelled = true;
    this.plan(kept);
  }

  private keptAs(id: string): Kept {
    const kept = this.kept.get(id);
    if (!kept) throw notFound(`schedule ${id}`);
    return kept;
  }

  private plan(kept: Kept): void {
    const { world } = this.server;
    kept.planned = world.at(untilNextMs(kept.schedule, world.now), () => {
      this.act(kept);
      this.plan(kept);
    });
  }

  private act(kept: Kept): void {
    const { startWorkflow: wanted } = kept.schedule.action ?? {};
    if (!wanted || (kept.last && this.server.latest(kept.last.workflowId)?.isRunning)) return;
    const at = new Date(this.server.world.now).toISOString().replace(/\.\d+Z$/, 'Z');
    const { run } = this.server.start({
      workflowId: `${wanted.workflowId}-${at}`,
      started: {
        workflowType: wanted.workflowType ?? null,
        taskQueue: wanted.taskQueue ?? null,
        input: wanted.input ?? null,
        memo: wanted.memo ?? null,
        searchAttributes: wanted.searchAttributes ?? null,
        identity: 'temporal-scheduler',
      },
    });
    kept.last = run;
  }
}

function untilNextMs({ spec }: Schedule, now: number): number {
  const every = durationMs(spec?.interval?.[0]?.interval);
  if (every !== undefined) return every - (now % every);
  const [daily] = spec?.structuredCalendar ?? [];
  if (!daily) throw grpcError('UNIMPLEMENTED', 'the simulation knows intervals and times of day');
  const at = (daily.hour?.[0]?.start ?? 0) * HOUR_MS + (daily.minute?.[0]?.start ?? 0) * MINUTE_MS;
  return DAY_MS - ((now - at) % DAY_MS);
}
