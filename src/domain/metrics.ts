/** The metrics of a worker: of what its workflows decide, of its calls, and of what it counts in Temporal. Labels hold
 * names of the configuration and values of our own lists, never ids or text of callers. `docs/reference.md` is generated
 * from this table, and code can record no other metric. */

export interface Metric {
  kind: 'counter' | 'gauge' | 'histogram';
  /** What is counted or measured. Durations are in seconds. */
  unit: string;
  labels: readonly string[];
  meaning: string;
  /** When it needs attention, and what to do. */
  action: string;
  /** Of a histogram. */
  buckets?: readonly number[];
}

const NOTHING = 'Nothing.';
const ATTENTION = 'When it is above 0, run `npm run payouts -- list --attention`.';

export const WORKER_METRICS = {
  payouts_started: {
    kind: 'counter',
    unit: 'payout',
    labels: ['app'],
    meaning: 'Payouts that began, after their request was checked',
    action: NOTHING,
  },
  payouts_ended: {
    kind: 'counter',
    unit: 'payout',
    labels: ['app', 'outcome', 'learned_by'],
    meaning:
      'Payouts that ended, by [outcome](#outcomes) and by how it was learned: `notification`, `poll` or `none`',
    action:
      'When `NOT_CREATED` or `FAILED` grows unusually, read the reasons: `npm run payouts -- report`. When only `poll` grows, notifications do not arrive.',
  },
  payouts_creates: {
    kind: 'counter',
    unit: 'create',
    labels: ['app', 'answer'],
    meaning:
      'Creates by answer: `created`, `not-created`, `invalid` (rejected before the send), `not-sent`, or `unanswered` (unknown outcome)',
    action: 'When `unanswered` grows: [unknown outcomes](alerts.md#payoutsunknownoutcomes).',
  },
  payouts_lock_to_create_seconds: {
    kind: 'histogram',
    unit: 'seconds',
    labels: ['app'],
    buckets: [0.5, 1, 2, 5, 10, 20, 30, 45, 60, 120, 300, 3_600],
    meaning: 'From the start of a rate lock to the answer of its create, including the wait for an approval',
    action: 'When it nears `PAYMENTS_LOCK_LIFETIME`: quotes expire unused. Check the rate-limit use.',
  },
  payouts_notification_to_final_seconds: {
    kind: 'histogram',
    unit: 'seconds',
    labels: ['app'],
    buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3_600],
    meaning: 'From the notification that led to an outcome until the payout ended',
    action: 'When it exceeds a minute: check `payouts_oldest_call_seconds`.',
  },
  payouts_polls: {
    kind: 'counter',
    unit: 'query',
    labels: ['app', 'because'],
    meaning: 'Status queries to the provider, because of a `notification` or of the `poll` timer',
    action: 'When only `poll` grows, notifications do not arrive.',
  },
  payouts_notifications_received: {
    kind: 'counter',
    unit: 'notification',
    labels: ['app'],
    meaning: 'Notifications that reached a payout',
    action: NOTHING,
  },
  payouts_open: {
    kind: 'gauge',
    unit: 'payout',
    labels: ['app', 'phase'],
    meaning: 'Open payouts by the [phase](#phases) in which they last came to rest',
    action: NOTHING,
  },
  payouts_attention: {
    kind: 'gauge',
    unit: 'workflow',
    labels: ['app', 'code'],
    meaning: 'Open workflows that are flagged, by [attention code](#attention-codes)',
    action: ATTENTION,
  },
  payouts_attention_raised: {
    kind: 'counter',
    unit: 'flag',
    labels: ['app', 'code'],
    meaning:
      'Flags that were raised, also on workflows that have ended. `app` is `none` for reconciliations, which serve all applications',
    action: 'When it grows, run `npm run payouts -- list --attention`.',
  },
  payouts_calls_waiting: {
    kind: 'gauge',
    unit: 'call',
    labels: ['app'],
    meaning: 'Calls that wait in Temporal for their turn under the rate limit',
    action: 'When it keeps growing, more is started than the rate limit allows.',
  },
  payouts_oldest_call_seconds: {
    kind: 'gauge',
    unit: 'seconds',
    labels: ['app'],
    meaning: 'How long the oldest of these calls has waited',
    action: 'When it exceeds `PAYOUTS_CALL_WAITS`: [calls wait](alerts.md#payoutscallswait).',
  },
  payouts_reconciliation_lag_seconds: {
    kind: 'gauge',
    unit: 'seconds',
    labels: ['app'],
    meaning:
      'Time since the last completed reconciliation of the environment; since the start of the worker if there was none',
    action:
      'When it exceeds twice `PAYOUTS_RECONCILE_EVERY`: [the schedule does not run](alerts.md#payoutsreconciliationlate).',
  },
  payouts_token_age_seconds: {
    kind: 'gauge',
    unit: 'seconds',
    labels: ['app'],
    meaning: "Time since this process got the application's access token that it uses; 0 without one",
    action: 'When it exceeds the lifetime that the provider gives: [tokens](operations.md#tokens).',
  },
  payouts_collector_failures: {
    kind: 'counter',
    unit: 'round',
    labels: ['app'],
    meaning: 'Rounds in which the lease owner could not count in Temporal',
    action: 'When it keeps growing, the gauges that it counts are old: `npm run payouts -- doctor`.',
  },
  payouts_paused: {
    kind: 'gauge',
    unit: 'application',
    labels: ['app'],
    meaning:
      'Whether an operator has paused the application, or its shared settings are missing, so that no create call is sent: 1 or 0',
    action: 'When it is 1 for longer than intended: [the application is paused](alerts.md#payoutspaused).',
  },
  payouts_lease_owner: {
    kind: 'gauge',
    unit: 'process',
    labels: ['app'],
    meaning: 'Whether this process owns the rate-limit lease: 1 or 0. The sum over all workers is 1',
    action: 'When the sum is not 1: [no owner of a rate-limit lease](alerts.md#payoutsnoleaseowner).',
  },
  payouts_rate_limit_calls_per_second: {
    kind: 'gauge',
    unit: 'calls per second',
    labels: ['app'],
    meaning: 'The rate limit in force, in the lease owner; elsewhere 0',
    action: NOTHING,
  },
  payouts_provider_unreached_seconds: {
    kind: 'gauge',
    unit: 'seconds',
    labels: ['app'],
    meaning: 'How long every call of the lease owner has failed to reach the provider',
    action:
      'When it stays above 0: [no call reaches the provider](alerts.md#payoutsproviderunreachable). Another worker takes the lease.',
  },
  payouts_provider_calls: {
    kind: 'counter',
    unit: 'call',
    labels: ['app', 'operation', 'outcome'],
    meaning:
      'Calls by operation and outcome: `OK`, or the code of the [failure](#failures-of-activities). `NOT_SENT` used none of the rate limit',
    action: 'When outcomes other than `OK` grow: [provider outage](operations.md#provider-outage).',
  },
  payouts_provider_call_duration_seconds: {
    kind: 'histogram',
    unit: 'seconds',
    labels: ['app', 'operation'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
    meaning: 'Duration of a call, with the wait for its turn in this process',
    action: 'When it nears `PAYMENTS_CALL_TIMEOUT`: [provider outage](operations.md#provider-outage).',
  },
  payouts_rate_limited: {
    kind: 'counter',
    unit: 'call',
    labels: ['app'],
    meaning: 'Calls that the provider answered with 429, creates included',
    action: 'When it grows: [rate limited](alerts.md#payoutsratelimited).',
  },
  payouts_token_renewals: {
    kind: 'counter',
    unit: 'renewal',
    labels: ['app', 'kind'],
    meaning: 'Tokens obtained',
    action: NOTHING,
  },
  payouts_token_attention: {
    kind: 'counter',
    unit: 'token',
    labels: ['app', 'kind', 'code'],
    meaning: 'Times that a token began to need a person',
    action: 'When it grows, see [tokens](#tokens).',
  },
  payouts_events_delivered: {
    kind: 'counter',
    unit: 'event',
    labels: ['app', 'endpoint'],
    meaning: 'Events that an endpoint has accepted',
    action: NOTHING,
  },
  payouts_event_failures: {
    kind: 'counter',
    unit: 'request',
    labels: ['app', 'endpoint'],
    meaning: 'Requests to an endpoint that failed; they are repeated',
    action: 'When it keeps growing, see [endpoints](#endpoints).',
  },
  payouts_events_lost: {
    kind: 'counter',
    unit: 'event',
    labels: ['app', 'endpoint'],
    meaning: 'Events that were given up, could not be read, or found no room',
    action: 'When it grows, see `EVENTS_LOST` in [endpoints](#endpoints).',
  },
  payouts_endpoints_disabled: {
    kind: 'counter',
    unit: 'endpoint',
    labels: ['app', 'endpoint'],
    meaning: 'Times that an endpoint disabled itself',
    action: 'When it grows, see `ENDPOINT_DISABLED` in [endpoints](#endpoints).',
  },
  payouts_events_unpublished: {
    kind: 'counter',
    unit: 'event',
    labels: ['app'],
    meaning: 'Events that a workflow could not publish before its end',
    action: 'Reconciliation publishes them. When it grows, check Temporal and the workers.',
  },
  process_start_time_seconds: {
    kind: 'gauge',
    unit: 'seconds',
    labels: [],
    meaning: 'When this process started, in Unix time. API servers have it too',
    action: 'When it changes without a roll-out, the process was restarted: its log says why it ended.',
  },
} as const satisfies Readonly<Record<string, Metric>>;
