/**
 * What operators look for in the Temporal UI's list: the questions, and the queries that answer them. The table in
 * `docs/temporal-ui.md` holds these, which a test checks.
 */
export interface SavedFilter {
  name: string;
  question: string;
  query: string;
}

export const SAVED_FILTERS: readonly SavedFilter[] = [
  {
    name: 'Needs somebody',
    question: 'which payouts and tokens need a person?',
    // Written as the UI writes it, so that it shows as chips. What went on as new is told by its latest run.
    query: `PayoutNeedsAttention=true AND (ExecutionStatus="Running" OR ExecutionStatus="Completed")`,
  },
  {
    name: 'To approve',
    question: 'which quotes wait for an approval?',
    query: `PayoutPhase="AWAITING_APPROVAL" AND ExecutionStatus="Running"`,
  },
  {
    name: 'In review',
    question: 'of which does nobody know whether the order exists?',
    query: `PayoutPhase="NEEDS_REVIEW" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Open payouts',
    question: 'what is under way?',
    query: `WorkflowType="payout" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Ended, not all paid',
    question: 'which ended as FAILED or PARTIAL_SUCCESS?',
    query: `(PayoutOutcome="FAILED" OR PayoutOutcome="PARTIAL_SUCCESS")`,
  },
  {
    name: 'Not created',
    question: 'which ended without an order?',
    query: `PayoutOutcome="NOT_CREATED"`,
  },
  {
    name: 'Sent back by the audit',
    question: 'for which does the service want material?',
    query: `PayoutAuditStatus="RETURNED" AND ExecutionStatus="Running"`,
  },
  {
    name: 'Tokens',
    question: 'how are the tokens?',
    query: `WorkflowType="tokenRenewal" AND ExecutionStatus="Running"`,
  },
];

/** The Temporal UI's address of a list. With a name the UI also keeps it among its saved views, in that browser. */
export function filterLink(
  uiUrl: string,
  namespace: string,
  { query, name }: Pick<SavedFilter, 'query' | 'name'>,
) {
  const wanted = new URLSearchParams({ query, savedQuery: name });
  return `${uiUrl}/namespaces/${namespace}/workflows?${wanted}`;
}
