/** Sends create calls: the only calls that move money. */
import { activityInfo } from '@temporalio/activity';
import type { AgreedQuote } from '../../contract/payout.ts';
import type { CreateMeaning, CreatePayoutRequest, PayoutOrder } from '../../contract/provider-records.ts';
import type { SendPolicy } from '../../domain/payout-record.ts';
import { requiresApproval } from '../../domain/permissions.ts';
import { hasCode, type PaymentsClient, PaymentsError } from '../../payments/index.ts';
import type { Random, Runtime } from '../../runtime/runtime.ts';
import type { Principal } from '../shared/execution.ts';
import { asFailure } from '../shared/failures.ts';
import { type ClientPairs, isProven } from './client-pairs.ts';
import type { RunBegins } from './earlier-runs.ts';
import {
  type Claim,
  mustNotSend,
  type NothingSent,
  provablyNotSent,
  type SendGuard,
  whileClaimed,
} from './send-once.ts';

export interface CreateDependencies {
  client: PaymentsClient;
  claim: Claim;
  /** Undefined while the application has no shared settings: nothing may be sent. */
  policy: SendPolicy | undefined;
  pairs: ClientPairs;
  histories: RunBegins;
  runtime: Runtime;
}

export interface CreateOrder extends SendGuard {
  /**
   * Temporal must have scheduled the activity by then, because its schedule-to-start timeout counts from that time. Unix
   * milliseconds, by Temporal's clock.
   */
  scheduleByMs: number;
  order: CreatePayoutRequest;
  /** Read from this history by later runs: an order that they find is compared with it (H264). */
  quote: AgreedQuote;
  clientId: string;
  payerId: string;
  /** The payout requires an approval, and has it. */
  isApproved: boolean;
  /** The caller who started the payout, if its name was recorded. */
  startedBy?: string | undefined;
  /** What the sender must know, if the payout runs on a newer version: see `PayoutSettings`. */
  requires?: readonly string[] | undefined;
}

/** The result of a create call. If the activity fails instead, the outcome is unknown. */
export type CreateResult =
  | { kind: 'created'; order: PayoutOrder }
  /** The response has a code of `PAYMENTS_CREATE_CODES`. */
  | { kind: 'not-created'; meaning: CreateMeaning; message: string }
  /** Our own check refused the body. Nothing was sent. */
  | { kind: 'invalid'; message: string }
  | NothingSent;

/** Sends the create call, unless it may have been sent before. Throws if the outcome is unknown: an order may exist. */
export async function createPayout(
  dependencies: CreateDependencies,
  principal: Principal,
  create: CreateOrder,
): Promise<CreateResult> {
  const { client, claim, policy, histories, runtime } = dependencies;
  const { clock, random } = runtime;
  const deadline = clock.nowMs() + create.sendWithinMs;
  // Only a newer worker may send it: the workflow tries again.
  if (create.requires && create.requires.length > 0) return { kind: 'not-sent', cause: 'unreachable' };
  if (!policy) return { kind: 'not-sent', cause: 'paused' };
  const cause =
    (await mustNotSend(create, policy, histories)) ??
    unapproved(create, policy) ??
    lockOver(create) ??
    (await confirmNow(dependencies, policy, principal, create));
  if (cause) return { kind: 'not-sent', cause };
  try {
    const order = await whileClaimed(claim, clock, (beforeSend) =>
      client.createPayout(create.order, { openId: principal.openId, deadline, beforeSend }),
    );
    return { kind: 'created', order };
  } catch (error) {
    return resultOf(error, random);
  }
}

/** The payout may have been prepared with older settings, or without any. */
function unapproved({ order, isApproved, startedBy }: CreateOrder, { approvals }: SendPolicy) {
  const isMissing = !isApproved && requiresApproval(approvals, order.instructedAmount, startedBy);
  return isMissing ? 'unapproved' : undefined;
}

/** Compares two times of Temporal's clock, so the worker's clock does not matter. */
function lockOver({ scheduleByMs }: CreateOrder) {
  return activityInfo().scheduledTimestampMs > scheduleByMs ? 'too-late' : undefined;
}

/** Confirms immediately before the send, if histories may have been deleted (H8) or lost (H53). */
async function confirmNow(
  { client, pairs }: CreateDependencies,
  policy: SendPolicy,
  principal: Principal,
  { order, clientId, payerId, cleared }: CreateOrder,
): Promise<NothingSent['cause'] | undefined> {
  const { createCheck, recoveredAtMs } = policy;
  if (createCheck !== 'always' && recoveredAtMs === undefined) return undefined;
  // The query may know no order of the pair at all, and the run that sent is lost: a person decides (H321).
  const pair = { ...principal, clientId, payerId };
  if (recoveredAtMs !== undefined && !cleared && !(await isProven(pairs, policy, pair.environment, pair)))
    return 'earlier-run';
  try {
    const key = { clientId, partnerOrderId: order.partnerOrderId };
    await client.tradeResult(key, { openId: principal.openId, fresh: true });
    return 'exists';
  } catch (error) {
    return hasCode(error, 'ORDER_NOT_EXIST') ? undefined : 'unconfirmed';
  }
}

function resultOf(error: unknown, random: Random): CreateResult {
  if (error instanceof PaymentsError && error.meaning !== undefined)
    return { kind: 'not-created', meaning: error.meaning, message: error.message };
  if (hasCode(error, 'INVALID_REQUEST')) return { kind: 'invalid', message: error.message };
  const notSent = provablyNotSent(error);
  if (notSent) return notSent;
  throw asFailure(error, random);
}
