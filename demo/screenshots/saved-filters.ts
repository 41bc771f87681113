/** Filters for the workflow list of the Temporal UI. `docs/temporal-ui.md` contains them. */
export interface SavedFilter {
  name: string;
  question: string;
  query: string;
}

export const SAVED_FILTERS: readonly SavedFilter[] = [
  {
    name: 'Needs attention',
    question: 'which payouts and tokens need attention?',
    // In the UI's own format, so that it shows the conditions as chips. Excludes runs that continued as new.
    query: `PayoutNeedsAttention=true AND (ExecutionStatus="Running" OR ExecutionStatus="Completed")`,
  },
  {
    name: 'To approve',
    question: 'which payouts wait for approval?',
    query: `PayoutPhase="AWAITING_APPROVAL" AND ExecutionStatus="Running"`,
  },
  {
    name: 'In review',
    question: 'for which payouts is it unknown whether the order exists?',
    query: `PayoutPhase="NEEDS_REVIEW" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Open payouts',
    question: 'which payouts are open?',
    query: `WorkflowType="payout" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Ended, not all paid',
    question: 'which payouts ended as FAILED or PARTIAL_SUCCESS?',
    query: `(PayoutOutcome="FAILED" OR PayoutOutcome="PARTIAL_SUCCESS")`,
  },
  {
    name: 'Not created',
    question: 'which payouts ended without an order?',
    query: `PayoutOutcome="NOT_CREATED"`,
  },
  {
    name: 'Sent back by the audit',
    question: 'for which payouts does the risk audit await material?',
    query: `PayoutAuditStatus="RETURNED" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Tokens',
    question: 'what is the state of the tokens?',
    query: `WorkflowType="tokenRenewal" AND ExecutionStatus="Running"`,
  },
];

/** The URL of a list in the Temporal UI, which also stores the filter as a saved view in the browser. */
export function filterLink(uiUrl: string, namespace: string, { query, name }: Omit<SavedFilter, 'question'>) {
  const parameters = new URLSearchParams({ query, savedQuery: name });
  return `${uiUrl}/namespaces/${namespace}/workflows?${parameters}`;
}
