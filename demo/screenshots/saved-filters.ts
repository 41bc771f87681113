/** Filters for the workflow list of the Temporal UI. `docs/temporal-ui.md` contains them. */
export interface SavedFilter {
  name: string;
  query: string;
}

export const SAVED_FILTERS: readonly SavedFilter[] = [
  {
    name: 'Needs attention',
    // In the UI's own format, so that it shows the conditions as chips. Excludes runs that continued as new.
    query: `PayoutNeedsAttention=true AND (ExecutionStatus="Running" OR ExecutionStatus="Completed")`,
  },
  {
    name: 'To approve',
    query: `PayoutPhase="AWAITING_APPROVAL" AND ExecutionStatus="Running"`,
  },
  {
    name: 'In review',
    query: `PayoutPhase="NEEDS_REVIEW" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Open payouts',
    query: `WorkflowType="payout" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Ended, not all paid',
    query: `(PayoutOutcome="FAILED" OR PayoutOutcome="PARTIAL_SUCCESS")`,
  },
  {
    name: 'Not created',
    query: `PayoutOutcome="NOT_CREATED"`,
  },
  {
    name: 'Sent back by the audit',
    query: `PayoutAuditStatus="RETURNED" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Tokens',
    query: `WorkflowType="tokenRenewal" AND ExecutionStatus="Running"`,
  },
];

/** The URL of a list in the Temporal UI, which also stores the filter as a saved view in the browser. */
export function filterLink(uiUrl: string, namespace: string, { query, name }: SavedFilter) {
  const parameters = new URLSearchParams({ query, savedQuery: name });
  return `${uiUrl}/namespaces/${namespace}/workflows?${parameters}`;
}
