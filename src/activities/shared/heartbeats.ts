import { activityInfo, Context } from '@temporalio/activity';
import { type Clock, repeat } from '../../surroundings/surroundings.ts';

const EVERY_MS = 2_000;

/** Heartbeats while `work` runs, so that Temporal notices a killed worker long before the call's own time-out. */
export async function withHeartbeats<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  if (activityInfo().heartbeatTimeoutMs === undefined) return work();
  const context = Context.current();
  const stop = repeat(clock, EVERY_MS, () => context.heartbeat());
  try {
    return await work();
  } finally {
    stop();
  }
}
