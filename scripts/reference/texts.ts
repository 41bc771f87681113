/** What the reference says about names that the code only lists: errors, exit codes, search attributes, memos, metrics. */
import type { Explained } from '../../src/contract/attention-codes.ts';
import type { EXIT } from '../../src/contract/errors.ts';
import type { SEARCH_ATTRIBUTES } from '../../src/temporal/namespace.ts';

/** Those that `durable-payouts-client` exports; a test compares them. */
export const CLIENT_ERRORS: Readonly<Record<string, Explained>> = {
  PayoutsError: {
    meaning:
      'The base class. `code` is stable; `isRetryable` says whether the same call may succeed later; `fields` has every invalid field.',
    action: 'See [error codes](#error-codes).',
  },
  InvalidPayoutRequestError: {
    meaning: '`INVALID_PAYOUT_REQUEST`. Of a batch, `fields` has the first hundred.',
    action: 'Correct the request.',
  },
  ConflictError: {
    meaning:
      '`CONFLICT`: the `partnerOrderId` or `requestId` belongs to another body, or the batch has other rows or another caller. Nothing was started or changed.',
    action: 'Send the first body or rows again. A new `partnerOrderId` makes another payment.',
  },
  TooManyReadsError: {
    meaning: 'Too many status reads are waiting for a worker. Nothing was queried.',
    action: 'Read again later. Wait with `result`.',
  },
  ConfigError: {
    meaning: '`connectPayouts` found invalid settings, listed in `problems`. Not a `PayoutsError`.',
    action: 'Correct the settings.',
  },
};

/** Of `@temporalio/client`: the `cause` of a `PayoutsError`. */
export const TEMPORAL_ERRORS: Readonly<Record<string, Explained>> = {
  WorkflowNotFoundError: {
    meaning: 'There is no such payout, batch or request.',
    action: 'Check the id and `app`.',
  },
  WorkflowUpdateFailedError: {
    meaning: 'The update was rejected. `cause` is an `ApplicationFailure` of type `NotAcceptedNow`.',
    action: 'Read the message of `cause`.',
  },
  WorkflowFailedError: {
    meaning:
      'The start was bad input: `cause` is an `ApplicationFailure` of type `InvalidPayoutRequest`. From `reads`: no usable response; the innermost `cause` has the [type](#failures-of-activities).',
    action: 'Correct the request, and start it again under the same id. Repeat a read later.',
  },
  WorkflowUpdateRPCTimeoutOrCancelledError: {
    meaning: 'The update got no response in time, and may have been executed.',
    action: 'Read the state, or send the update again.',
  },
  ServiceError: {
    meaning: "Temporal didn't respond, or refused the call, which may have been executed.",
    action: 'Repeat the call, which is always safe.',
  },
};

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, Explained>> = {
  ok: { meaning: 'Done.', action: 'Nothing.' },
  unexpected: {
    meaning:
      "Unexpected error, Temporal doesn't respond, a renewal is stuck, or shared settings aren't in force.",
    action: 'Run `payouts doctor`, then the command again.',
  },
  badInput: {
    meaning: 'Invalid input. Nothing was started.',
    action: 'Correct the input.',
  },
  notFound: { meaning: 'No such payout, request, account or token.', action: 'Check the id and `--app`.' },
  refused: {
    meaning:
      "Not allowed now, not confirmed, the id belongs to another body, or `events test` didn't deliver.",
    action: "Read the message. Don't repeat the command unchanged.",
  },
  notPaid: {
    meaning: "A payout didn't end as `SUCCESS`, or no receiving account was opened.",
    action: 'Read the `outcome` and the `reason`.',
  },
  doctorFoundProblems: { meaning: '`doctor` found problems.', action: 'Do what each `FAIL` line says.' },
};

export const SEARCH_ATTRIBUTE_MEANINGS: Readonly<Record<keyof typeof SEARCH_ATTRIBUTES, string>> = {
  PayoutPhase: 'The [phase](#phases) in which the payout last waited.',
  PayoutOutcome: 'The [outcome](#outcomes). Absent while the payout is open.',
  PayoutApp:
    'The application. Also on follow-ups, batches, receiving accounts, token renewals, rate-limit leases and Nexus operations.',
  PayoutOrderId: "The provider's `orderId`. Absent without an order.",
  PayoutAuditStatus: "The [audit status](#audit-statuses). Absent if it's unknown.",
  PayoutPair:
    'A hash of environment, application, `clientId` and `payerId` of a payout that ended with an order: [this pair works](how-it-works.md#what-a-confirmation-proves).',
  PayoutNeedsAttention:
    'Whether it needs an operator. Also on follow-ups, receiving accounts, token renewals, event endpoints and reconciliations. Absent means no.',
  PayoutReasons: 'The [attention codes](#attention-codes) of a flagged workflow. Absent means none.',
  PayoutKeys:
    'Keyed hashes of what [lists search](http.md#lists). Also on follow-ups. Absent without `PAYOUTS_SEARCH_KEYS`.',
  PayoutStartedAt:
    'The first start, by which [lists](http.md#lists) filter: Temporal shows the start of the latest run. Also on batches and receiving accounts. Absent if another program started it.',
};

/** A test compares them with what the code reads and writes. */
export const MEMO_FIELDS: Readonly<Record<string, { on: string; writer: string; meaning: string }>> = {
  start: {
    on: 'all that programs start',
    writer: 'the program that starts it',
    meaning:
      "What it tells the workflow. `environment`: workers of another one reject the start. `rejectDuplicate`: the time of a start with which Temporal rejects a second workflow under this id; otherwise, and if the workflow started more than a minute before or after that time, it's a doubtful start, which confirms before it sends. `startedBy`: the caller, or `caller/user` for a user whom a proxy signed in to the desk, who can't approve the payout or resolve its review. `batch`: the `batchId`. And what lists show of a payout.",
  },
  environment: {
    on: '`payout`',
    writer: 'a program without `start`',
    meaning: 'As in `start`.',
  },
  rejectDuplicate: {
    on: '`payout`',
    writer: 'a program without `start`',
    meaning: 'As in `start`, or `true`.',
  },
  received: {
    on: '`payout`',
    writer: 'the payout, when it finishes',
    meaning:
      "The sum that arrived, unless it's the whole `instructedAmount`; `failed` has the sum that failed.",
  },
  createSent: {
    on: '`payout`',
    writer: 'the payout, reconciliation',
    meaning: '`createSent: true`: a create call may have been sent.',
  },
  stops: {
    on: '`payout`',
    writer: 'reconciliation',
    meaning: 'How often the workflow was restarted.',
  },
  changes: {
    on: '`payoutFollowUp`',
    writer: 'the follow-up',
    meaning: 'What changed, for the daily report.',
  },
  acknowledgement: {
    on: '`payoutAcknowledgement`',
    writer: 'the program that acknowledges',
    meaning:
      "Who acknowledged which [flags](operations.md#attention-flags) of which run, and the follow-up's last finding.",
  },
  settings: {
    on: '`rateLimitLease`',
    writer: 'the lease',
    meaning: 'The calls per second that an operator has set, and who paused the application.',
  },
  unpublishedEvents: {
    on: '`payout`, `payoutFollowUp`, `payoutBatch`, `tokenRenewal`',
    writer: 'the workflow, when it finishes',
    meaning: '`unpublishedEvents: true`: reconciliation must publish some of its events.',
  },
};

/** Results of a notification. */
export const NOTIFICATION_RESULTS =
  '`delivered`, `ended` (the payout has finished), `unknown` (kept for two minutes), `limited` (beyond a [limit](notifications.md#limits)), `refused` (not verified), `unusable` (not a notification) or `not_taken` (the sender must send it again)';

/** Of the Temporal SDK, those that the dashboards and alerts use. */
export const SDK_METRICS = {
  temporal_workflow_task_execution_failed: sdkMetric(
    'workflow task',
    ['workflow_type', 'failure_reason'],
    'Failed workflow tasks. `failure_reason`: `WorkflowError` (a missing key, or an error in workflow code), `NonDeterminismError`, `GrpcMessageTooLarge`, `PayloadsTooLarge` or `RequestTooLarge`',
    'When it grows: [workflow tasks fail](alerts.md#payoutsworkflowtasksfail).',
  ),
  temporal_workflow_task_execution_latency: sdkMetric('milliseconds', [], 'Duration of a workflow task'),
  temporal_workflow_task_replay_latency: sdkMetric('milliseconds', [], 'Duration of a replay'),
  temporal_workflow_task_schedule_to_start_latency: sdkMetric(
    'milliseconds',
    [],
    'How long a workflow task waited for a worker',
    'When it grows, start more workers.',
  ),
  temporal_sticky_cache_size: sdkMetric('workflow', [], 'Workflows in memory'),
  temporal_sticky_cache_total_forced_eviction: sdkMetric(
    'workflow',
    [],
    'Evicted workflows',
    'When it keeps growing, start more workers: evicted workflows are replayed.',
  ),
  temporal_activity_execution_failed: sdkMetric(
    'activity',
    ['activity_type'],
    'Failed activities',
    'When `createPayout` grows, run `payouts list --attention`.',
  ),
  temporal_activity_schedule_to_start_latency: sdkMetric(
    'milliseconds',
    ['task_queue'],
    'How long an activity waited for a worker, or a call for the rate limit',
  ),
  temporal_activity_task_received: sdkMetric(
    'activity',
    ['task_queue'],
    'Activities that this worker received',
  ),
  temporal_worker_task_slots_used: sdkMetric('slot', ['worker_type'], 'Running tasks'),
  temporal_worker_task_slots_available: sdkMetric(
    'slot',
    ['worker_type'],
    'Free slots for tasks',
    'When it stays 0, start more workers.',
  ),
  temporal_request: sdkMetric('request', ['operation'], 'Requests to Temporal'),
  temporal_request_failure: sdkMetric(
    'request',
    ['operation', 'status_code'],
    'Failed requests to Temporal',
    'When it keeps growing, run `payouts doctor`.',
  ),
  temporal_request_latency: sdkMetric('milliseconds', ['operation'], 'Duration of requests to Temporal'),
};

function sdkMetric(unit: string, labels: readonly string[], meaning: string, action = 'Nothing.') {
  return { unit, labels, meaning, action };
}
