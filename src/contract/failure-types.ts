/** The types of failures that others rely on; `failure-meanings.ts` explains each. */

/** A workflow fails with it on bad input, and on nothing else; `details[0]` is `[{ path, message }]`. */
export const INVALID_PAYOUT_REQUEST = 'InvalidPayoutRequest';

/** Refuses an update; the message says why. */
export const NOT_ACCEPTED_NOW = 'NotAcceptedNow';

/** What the Nexus operation `pay` fails with where the number belongs to another body. */
export const PAYOUT_CONFLICT = 'PayoutConflict';

/** What the Nexus operation `pay` fails with where nothing tells how the payout ended. */
export const PAYOUT_IS_GONE = 'PayoutIsGone';

/** Refuses a change of the rate limit. */
export const INVALID_CHANGE = 'InvalidChange';

/**
 * A query fails with it where its answer would need history events whose workflow task has not started yet. Nothing is
 * wrong with the query: sent again, it is answered.
 */
export const STALE_WORKFLOW_CLOCK = 'StaleWorkflowClock';
