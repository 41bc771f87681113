import { activityInfo, Context } from '@temporalio/activity';

const EVERY_MS = 2_000;

/** Heartbeats while `work` runs, so that Temporal notices a killed worker long before the call's own time-out. */
export async function withHeartbeats<T>(work: () => Promise<T>): Promise<T> {
  if (activityInfo().heartbeatTimeoutMs === undefined) return work();
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
