/** What the failures that others rely on mean. `docs/reference.md` is written from this table. */
import type { Explained } from '../domain/explained.ts';
import {
  INVALID_CHANGE,
  INVALID_PAYOUT_REQUEST,
  NOT_ACCEPTED_NOW,
  PAYOUT_CONFLICT,
  PAYOUT_IS_GONE,
  STALE_WORKFLOW_CLOCK,
} from './failure-types.ts';

export const FAILURE_MEANINGS = {
  [INVALID_PAYOUT_REQUEST]: {
    raisedBy: 'a workflow, the update `add` of a batch, the Nexus operation `pay`',
    meaning: 'Bad input. `details[0]` is `[{ path, message }]` with every bad field. Nothing was started.',
    action: 'Correct the request. A start that failed like this may be repeated under the same id.',
  },
  [NOT_ACCEPTED_NOW]: {
    raisedBy: 'an update',
    meaning: 'The update is not accepted now. The message says why. Nothing was changed.',
    action: 'Read the state, then decide again.',
  },
  [PAYOUT_CONFLICT]: {
    raisedBy: 'the Nexus operation `pay`',
    meaning: 'The `partnerOrderId` belongs to a payout with another body. Nothing was started.',
    action: 'Send the first body again. A new `partnerOrderId` makes another payment.',
  },
  [PAYOUT_IS_GONE]: {
    raisedBy: 'the Nexus operation `pay`',
    meaning: "Nothing is left of the payout's workflow in Temporal, so how it ended is unknown.",
    action: 'Ask the provider for the order before you pay again.',
  },
  [INVALID_CHANGE]: {
    raisedBy: 'the update that changes a rate limit',
    meaning: 'The new rate is not valid. The message says why.',
    action: 'Correct the rate.',
  },
  [STALE_WORKFLOW_CLOCK]: {
    raisedBy: 'a query',
    meaning: 'The query came ahead of a workflow task. Nothing is wrong with it.',
    action: 'Send the query again. Our own programs do.',
  },
} as const satisfies Record<string, Explained & { raisedBy: string }>;
