/** What the reference says about names that the code only lists: errors, exit codes, search attributes, memos, metrics. */
import type { Explained } from '../../src/contract/attention-codes.ts';
import type { EXIT } from '../../src/contract/errors.ts';
import type { SEARCH_ATTRIBUTES } from '../../src/temporal/namespace.ts';

/** Those that `durable-payouts/client` exports; a test compares them. */
export const CLIENT_ERRORS: Readonly<Record<string, Explained>> = {
  PayoutsError: {
    meaning:
      'Thrown by every call of what `connectPayouts` returns, with a stable `code`. `isRetryable` says whether the same call may succeed later; `fields` names every bad field. The classes below extend it.',
    action: 'See [error codes](#error-codes).',
  },
  InvalidPayoutRequestError: {
    meaning: 'Bad input. `fields` names every bad field; of a batch, the first hundred. Nothing was started.',
    action: 'Correct the request.',
  },
  PayoutConflictError: {
    meaning: 'The `partnerOrderId` belongs to a payout with another body. Nothing was started or changed.',
    action: 'Send the first body again. A new `partnerOrderId` makes another payment.',
  },
  BatchConflictError: {
    meaning: 'The batch was started with other rows, or by another caller. Nothing was added.',
    action: 'Send the first rows again, or use a new `batchId`.',
  },
  ReceivingAccountConflictError: {
    meaning: 'The `requestId` belongs to a request with another body. Nothing was started or changed.',
    action: 'Send the first body again, or use a new `requestId`.',
  },
  TooManyReadsError: {
    meaning: 'Too many status reads are waiting for a worker. Nothing was queried.',
    action: 'Read again later. Wait with `result`.',
  },
  ConfigError: {
    meaning: '`connectPayouts` found unusable settings. `problems` has one line for each.',
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
    action: 'Correct the request and start it again under the same id. Repeat a read later.',
  },
  WorkflowUpdateRPCTimeoutOrCancelledError: {
    meaning: 'The update got no response in time, and may have been done.',
    action: 'Read the state, or send the update again.',
  },
  ServiceError: {
    meaning: 'Temporal did not respond, or refused the call, which may have been done.',
    action: 'Repeat the call: every call can be repeated.',
  },
};

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, Explained>> = {
  ok: { meaning: 'Done.', action: 'Nothing.' },
  unexpected: {
    meaning: 'Unexpected error, or Temporal does not respond.',
    action: 'Run `npm run payouts -- doctor`, then the same command again.',
  },
  badInput: {
    meaning: 'Bad input. Every bad field is named, and nothing was started.',
    action: 'Correct the input.',
  },
  notFound: { meaning: 'No such payout, request, account or token.', action: 'Check the id and `--app`.' },
  refused: {
    meaning: 'Refused: not accepted now, not confirmed, or the id belongs to another body.',
    action: 'Read the message. Do not repeat the command unchanged.',
  },
  notPaid: {
    meaning: 'A payout did not end as `SUCCESS`, or no receiving account was opened.',
    action: 'Read the `outcome` and the `reason`.',
  },
  doctorFoundProblems: { meaning: '`doctor` found problems.', action: 'Do what each `FAIL` line says.' },
};

export const SEARCH_ATTRIBUTE_MEANINGS: Readonly<Record<keyof typeof SEARCH_ATTRIBUTES, string>> = {
  PayoutPhase:
    'The [phase](#phases) in which the payout last came to rest. A phase that passes immediately is not written.',
  PayoutOutcome: 'The [outcome](#outcomes). Absent while the payout is open.',
  PayoutApp:
    'The application, on payouts, follow-ups, batches, receiving accounts, token renewals, rate-limit leases and Nexus operations.',
  PayoutOrderId: "The provider's `orderId`. Absent without an order.",
  PayoutAuditStatus:
    'The [audit status](#audit-statuses). Absent while the provider reports none that is known.',
  PayoutPair:
    'A hash of environment, application, `clientId` and `payerId` of a payout that ended with an order: [this pair works](how-it-works.md#what-a-confirmation-proves).',
  PayoutNeedsAttention:
    'Whether an operator should look. Also on follow-ups, receiving accounts, token renewals, event endpoints and reconciliations. Absent means no.',
  PayoutReasons: 'The [attention codes](#attention-codes) of a flagged workflow. Absent means none.',
};

/** A test compares them with what the code reads and writes. */
export const MEMO_FIELDS: Readonly<Record<string, { on: string; writer: string; meaning: string }>> = {
  rejectDuplicate: {
    on: '`payout`, `openReceivingAccount`',
    writer: 'the program that starts it',
    meaning:
      '`true`: the start policies make Temporal refuse a second workflow under this id. Any other value makes a doubtful start, which confirms before it sends.',
  },
  environment: {
    on: '`payout`, `payoutBatch`, `payoutFollowUp`, `payoutAcknowledgement`, `openReceivingAccount`, `payoutOperation`',
    writer: 'the program that starts it',
    meaning: 'The environment that the start is meant for. A worker of another environment rejects it.',
  },
  startedBy: {
    on: '`payout`, `payoutBatch`, `openReceivingAccount`',
    writer: 'the program that starts it',
    meaning:
      'The caller who started it, or `caller/user` for a user who was signed in to the desk by a proxy. None of these names can approve the payout or resolve its review.',
  },
  batch: {
    on: '`payout`',
    writer: 'the batch',
    meaning: 'The `batchId` of the batch that started the payout.',
  },
  createSent: {
    on: '`payout`',
    writer: 'the payout, reconciliation',
    meaning: '`true`: a create call was sent, or may have been sent.',
  },
  stops: {
    on: '`payout`',
    writer: 'reconciliation',
    meaning: 'How often the workflow was found stopped and started again.',
  },
  changes: {
    on: '`payoutFollowUp`',
    writer: 'the follow-up',
    meaning: 'What came back and what differs, for the daily report.',
  },
  acknowledgement: {
    on: '`payoutAcknowledgement`',
    writer: 'the program that acknowledges',
    meaning:
      'Who has seen which [flags](operations.md#attention-flags) of the payout and of its follow-up, the run of the payout that had finished, and when the follow-up had last found something.',
  },
  settings: {
    on: '`rateLimitLease`',
    writer: 'the lease',
    meaning: 'The calls per second that an operator has set, and who has paused the application.',
  },
  unpublishedEvents: {
    on: '`payout`, `payoutFollowUp`, `payoutBatch`, `tokenRenewal`',
    writer: 'the workflow, when it finishes',
    meaning: 'How many of its events could not be published. Reconciliation publishes them.',
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
    'Workflow tasks that failed. `failure_reason` is `WorkflowError` (a missing key, or an error in workflow code), `NonDeterminismError`, `GrpcMessageTooLarge`, `PayloadsTooLarge` or `RequestTooLarge`',
    'When it grows: [workflow tasks fail](alerts.md#payoutsworkflowtasksfail).',
  ),
  temporal_workflow_task_execution_latency: sdkMetric(
    'milliseconds',
    [],
    'Duration of a workflow task in the worker',
  ),
  temporal_workflow_task_replay_latency: sdkMetric(
    'milliseconds',
    [],
    'Duration of the replay of a workflow that was not in memory',
  ),
  temporal_workflow_task_schedule_to_start_latency: sdkMetric(
    'milliseconds',
    [],
    'How long a workflow task waited for a worker',
    'When it grows, start more workers.',
  ),
  temporal_sticky_cache_size: sdkMetric('workflow', [], 'Workflows in the memory of the worker'),
  temporal_sticky_cache_total_forced_eviction: sdkMetric(
    'workflow',
    [],
    'Workflows that were evicted from memory',
    'When it keeps growing, start more workers: each evicted workflow is replayed.',
  ),
  temporal_activity_execution_failed: sdkMetric(
    'activity',
    ['activity_type'],
    'Activities that failed',
    'When `createPayout` grows, run `npm run payouts -- list --attention`.',
  ),
  temporal_activity_schedule_to_start_latency: sdkMetric(
    'milliseconds',
    ['task_queue'],
    'How long an activity waited for a worker; calls wait for the rate limit',
  ),
  temporal_activity_task_received: sdkMetric(
    'activity',
    ['task_queue'],
    'Activities that this worker took up',
  ),
  temporal_worker_task_slots_used: sdkMetric('slot', ['worker_type'], 'Tasks that the worker executes now'),
  temporal_worker_task_slots_available: sdkMetric(
    'slot',
    ['worker_type'],
    'Further tasks that the worker would take',
    'When it stays 0, start more workers.',
  ),
  temporal_request: sdkMetric('request', ['operation'], 'Requests to Temporal'),
  temporal_request_failure: sdkMetric(
    'request',
    ['operation', 'status_code'],
    'Requests to Temporal that failed',
    'When it keeps growing, run `npm run payouts -- doctor`.',
  ),
  temporal_request_latency: sdkMetric('milliseconds', ['operation'], 'Duration of requests to Temporal'),
};

function sdkMetric(unit: string, labels: readonly string[], meaning: string, action = 'Nothing.') {
  return { unit, labels, meaning, action };
}
