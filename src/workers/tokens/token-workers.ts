/** The Workers of an application's token calls: one for each line, so that none holds the slots of another. */
import { TOKEN_LINES, type TokenLine, tokenTaskQueue } from '../../contract/ids.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import {
  type ActivityWorkerOptions,
  type ApplicationParts,
  activityWorker,
  type Runnable,
} from '../activity-worker.ts';
import { PacedSlots } from './paced-slots.ts';

/** Of each line that waits behind creates: the part of the rate limit that it may take. */
const PACED_PART = 0.05;
const PACED_AT_ONCE = 2;

export function tokenWorkers(
  parts: ApplicationParts,
  { environment, app }: { environment: string; app: string },
  callsPerSecond: number,
  common: Pick<ActivityWorkerOptions, 'activities' | 'graceTime' | 'buildId'>,
): Promise<Runnable>[] {
  return TOKEN_LINES.map((line) =>
    activityWorker(parts, {
      ...common,
      taskQueue: tokenTaskQueue(environment, app, line),
      slots: slotsOf(line, callsPerSecond, parts.surroundings.clock),
      polls: 1,
    }),
  );
}

function slotsOf(line: TokenLine, callsPerSecond: number, clock: Clock): ActivityWorkerOptions['slots'] {
  if (line === 'application') return { type: 'fixed-size', numSlots: 1 };
  if (line === 'urgent') return { type: 'fixed-size', numSlots: 2 };
  return new PacedSlots(PACED_AT_ONCE, 1_000 / (callsPerSecond * PACED_PART), clock);
}
