/** The failure types on which callers rely. `failure-meanings.ts` explains each. */

/** A workflow fails with this type on bad input only. `details[0]` is `[{ path, message }]`, with every bad field. */
export const INVALID_PAYOUT_REQUEST = 'InvalidPayoutRequest';

/** A refused update. The message gives the reason. */
export const NOT_ACCEPTED_NOW = 'NotAcceptedNow';

/** The Nexus operation `pay` fails with this type if the `partnerOrderId` belongs to a payout with another body. */
export const PAYOUT_CONFLICT = 'PayoutConflict';

/** What the Nexus operation `pay` fails with where nothing tells how the payout ended. */
export const PAYOUT_IS_GONE = 'PayoutIsGone';

/** Refuses a change of the rate limit. */
export const INVALID_CHANGE = 'InvalidChange';

/**
 * A query fails with this type if its answer would depend on history events whose workflow task has not started yet.
 * The query is valid; a retry succeeds.
 */
export const STALE_WORKFLOW_CLOCK = 'StaleWorkflowClock';
