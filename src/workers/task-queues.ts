/**
 * Which task queue runs which activities, and where:
 *
 * - `payouts`: workflows and the activities that call only Temporal or nothing. In every process.
 * - `payouts-nexus:…`: Nexus operations of an application, if `PAYOUTS_NEXUS_FILE` names it. In every process.
 * - `payouts-events:…`: sends events, if `PAYOUTS_EVENTS_FILE` names an endpoint. In every process.
 * - `payouts-lease:…`: `holdLease`. One slot in every process; the process that gets the task is the lease owner.
 * - `payouts-api:…`: all calls to the provider except token calls. In the lease owner.
 * - `payouts-tokens-{lane}:…`: token calls, one queue per kind. In the lease owner.
 */
import { batchActivities } from '../activities/batch/batch-activities.ts';
import { deliveryActivities, publishActivities } from '../activities/events/event-activities.ts';
import { runBegins } from '../activities/payout/earlier-runs.ts';
import { operationActivities } from '../activities/payout/operation-activities.ts';
import { reconcileActivities } from '../activities/reconciliation/reconcile-activities.ts';
import { reportActivities } from '../activities/reconciliation/report-activities.ts';
import { leaseLooks } from '../activities/shared/lease-looks.ts';
import { preparation } from '../activities/shared/preparation.ts';
import type { ProviderActivities } from '../activities/shared/provider-activities.ts';
import { recallActivities, type TokenActivities } from '../activities/tokens/token-activities.ts';
import { tokenHistories } from '../activities/tokens/token-histories.ts';
import {
  apiTaskQueue,
  eventsTaskQueue,
  nexusTaskQueue,
  PAYOUTS_TASK_QUEUE,
  TOKEN_LANES,
  type TokenLane,
  tokenTaskQueue,
} from '../contract/ids.ts';
import { payoutsServiceHandler } from '../nexus/payouts-service.ts';
import { HttpEventTransport } from '../webhooks/event-transport.ts';
import type { ActivityQueue, ApplicationParts } from './activity-worker.ts';
import { maxInFlight } from './provider-client.ts';
import type { RateLimiter } from './rate-limit/limiter.ts';
import type { OwnedTerm } from './rate-limit/ownership.ts';
import { callSlots, pacedSlots, prefetchedCalls } from './rate-limit/slots.ts';

const MAX_POLLS = 10;
/** The part of the rate limit that each lane of token calls behind create calls may use. */
const PACED_RATIO = 0.05;
const MAX_PACED = 2;
const MAX_DELIVERIES = 100;
const MAX_EVENT_POLLS = 2;

export function payoutsQueue({ config, client, runtime }: ApplicationParts) {
  const { clock } = runtime;
  const looks = leaseLooks(client, config.env.PAYMENTS_ENVIRONMENT, clock);
  return {
    taskQueue: PAYOUTS_TASK_QUEUE,
    activities: {
      ...preparation(config, looks, runBegins(client), runtime),
      ...batchActivities(config, client, clock),
      ...reconcileActivities(config, client, clock),
      ...reportActivities(config, client, clock),
      ...operationActivities(config, client, clock),
      ...publishActivities(config, client, clock),
      ...recallActivities(tokenHistories(client)),
    },
  };
}

export function nexusQueues({ config, client, runtime: { clock } }: ApplicationParts) {
  const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies } = config.env;
  const own = { environment, targetCurrencies, client, clock, searchKeys: config.keys.search };
  return [...config.nexus].map(([app, permissions]) => ({
    taskQueue: nexusTaskQueue(environment, app),
    nexusServices: [payoutsServiceHandler(own, app, permissions)],
  }));
}

/** One slot for each endpoint, so that a slow one delays no other. */
export function eventQueues({ config, client, runtime, eventTransport }: ApplicationParts): ActivityQueue[] {
  const { events: endpoints } = config;
  const environment = config.env.PAYMENTS_ENVIRONMENT;
  const count = [...endpoints.values()].flat().length;
  if (count === 0) return [];
  const transport = eventTransport ?? new HttpEventTransport();
  return [
    {
      taskQueue: eventsTaskQueue(environment),
      activities: deliveryActivities({ environment, endpoints, client, transport, runtime }),
      slots: { type: 'fixed-size', numSlots: Math.min(MAX_DELIVERIES, count) },
      polls: Math.min(MAX_EVENT_POLLS, count),
      shutdownGraceTime: config.env.PAYOUTS_DRAIN,
    },
  ];
}

export function callQueues(
  { config, runtime: { clock } }: ApplicationParts,
  app: string,
  { api, token }: { api: ProviderActivities; token: TokenActivities },
  limiter: RateLimiter,
  { callsPerSecond, mode }: Pick<OwnedTerm, 'callsPerSecond' | 'mode'>,
): ActivityQueue[] {
  const environment = config.env.PAYMENTS_ENVIRONMENT;
  const paced = () => pacedSlots(MAX_PACED, 1_000 / (callsPerSecond * PACED_RATIO), clock);
  // A queue for each lane, so that none takes the slots of another.
  const tokenSlots: Record<TokenLane, ActivityQueue['slots']> = {
    application: { type: 'fixed-size', numSlots: 1 },
    urgent: { type: 'fixed-size', numSlots: 2 },
    due: paced(),
    anonymous: paced(),
  };
  return [
    {
      taskQueue: apiTaskQueue(environment, app),
      activities: api,
      slots: callSlots(limiter, maxInFlight(config, callsPerSecond), clock),
      // Temporal limits the open polls of a namespace, and most applications are idle. Until the first burst has made the
      // owner busy, within 15 s, one poll fetches a call per round trip to Temporal.
      polls: mode === 'idle' ? 1 : Math.min(MAX_POLLS, prefetchedCalls(callsPerSecond)),
      shutdownGraceTime: config.env.PAYOUTS_DRAIN,
    },
    ...TOKEN_LANES.map((lane) => ({
      taskQueue: tokenTaskQueue(environment, app, lane),
      activities: token,
      slots: tokenSlots[lane],
      polls: 1,
      shutdownGraceTime: config.env.PAYOUTS_DRAIN,
    })),
  ];
}
