/** Renews the lease with heartbeats that await Temporal's answer: only an acknowledged renewal is valid. */
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
  type Client,
} from '@temporalio/client';
import { LEASE_TIMEOUT_MS, type LeaseHeartbeat, RENEWAL_INTERVAL_MS } from '../../domain/rate-limit.ts';
import { type Clock, repeat } from '../../runtime/runtime.ts';
import type { Fence } from './fence.ts';

/** Why a term ends. `lost`: another process may own the lease already. `released`: this process gives it back. */
export type Ending = 'lost' | 'released';

/** Someone paused, reset or canceled the activity. */
const RELEASE_REQUESTS = [ActivityCancelledError, ActivityPausedError, ActivityResetError];

interface RenewalParts {
  client: Client;
  taskToken: Uint8Array;
  fence: Fence;
  clock: Clock;
  heartbeat: () => LeaseHeartbeat;
}

/** Resolves when Temporal has acknowledged the lease; otherwise rejects. */
export async function renewLease(parts: RenewalParts): Promise<void> {
  const { client, taskToken, fence, clock, heartbeat } = parts;
  const sentAt = fence.now();
  const deadline = clock.wallMs() + LEASE_TIMEOUT_MS;
  const details = heartbeat();
  await client.withDeadline(deadline, () => client.activity.heartbeat(taskToken, details));
  fence.renewed(sentAt);
}

/** Renews the lease until the returned function is called. Calls `onEnd` when the term is over; retries errors. */
export function keepRenewing(parts: RenewalParts, onEnd: (ending: Ending) => void): () => void {
  return repeat(parts.clock, RENEWAL_INTERVAL_MS, () => {
    renewLease(parts).catch((error: unknown) => {
      if (error instanceof ActivityNotFoundError) onEnd('lost');
      else if (RELEASE_REQUESTS.some((request) => error instanceof request)) onEnd('released');
    });
  });
}
