import type { SendPolicy } from '../../src/domain/payout-record.ts';
import { NO_APPROVAL_POLICY } from '../../src/domain/permissions.ts';

/** The defaults, with orders that queries show at once. */
export const SEND_POLICY: SendPolicy = {
  createCheck: 'doubtful',
  repeatedCreate: 'review',
  clientPairs: 'learned',
  approvals: NO_APPROVAL_POLICY,
  visibleWithinMs: 0,
};
