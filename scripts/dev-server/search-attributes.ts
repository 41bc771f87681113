/**
 * What the dev server registers at its start, so that a starter need not wait for the first worker. A test
 * keeps it the same as what workers register.
 */
export const SEARCH_ATTRIBUTES: Readonly<Record<string, 'Keyword' | 'Bool'>> = {
  PayoutPhase: 'Keyword',
  PayoutOutcome: 'Keyword',
  PayoutApp: 'Keyword',
  PayoutOrderId: 'Keyword',
  PayoutAuditStatus: 'Keyword',
  PayoutNeedsAttention: 'Bool',
};
