/** How long the workers of one process wait. */

/** After a kill of a worker, its workflows wait this long before another worker takes them over. */
export const STICKY_QUEUE_TIMEOUT = '2s';
/** After a shutdown request, running activities have this long to finish. */
export const SHUTDOWN_GRACE = '30s';
/**
 * Between the shutdown of the leases and that of the workflows. The lease workflow chooses the next owner in a workflow
 * task, which Temporal may have reserved for this process. If it comes later, it waits for another process for seconds.
 */
export const LEASE_HANDOVER_MS = 1_000;
/** The SDK's own default is too slow for the lease. */
export const MAX_HEARTBEAT_THROTTLE = '1s';
