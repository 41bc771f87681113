/**
 * `POST /v1/notifications/{app}`: limits the size, verifies the raw bytes, parses, limits unverified senders, signals the
 * payout, responds.
 */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Receipt } from '../../config/api-config.ts';
import type { Callers } from '../../config/callers.ts';
import { type EventLogger, logEvent } from '../../domain/telemetry.ts';
import { type Counted, FloodGate } from '../../http/log.ts';
import { applicationIn, problemFor, requireNoAppInQuery } from '../../http/problems.ts';
import { eventLogger } from '../../observability/log.ts';
import {
  type NotificationFields,
  NotificationFormatError,
  type NotificationVerifier,
  parseNotification,
} from '../../payments/index.ts';
import { networkOf } from '../../runtime/addresses.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { TokenBuckets } from '../../runtime/token-buckets.ts';
import { Problem, tooManyRequests, unavailable } from '../../service/problem.ts';
import type { ApiMetrics, NotificationResult } from './monitoring.ts';
import { RECEIVED, type Received, type Receiver, TooManySignalsError } from './receiver.ts';

/** The unverified notifications of each address. A provider with a limit of 20 calls per second sends fewer. */
const UNVERIFIED = { burst: 1_000, refillMs: 10 };

interface NotificationParts {
  receiver: Receiver;
  verifier: NotificationVerifier;
  fields: NotificationFields;
  receipt: Receipt | undefined;
  metrics: ApiMetrics;
  clock: Clock;
  callers: Pick<Callers, 'keys'>;
}

interface Counters {
  unmatched: FloodGate;
  senders: TokenBuckets;
}

const id = (description: string) => z.string().optional().describe(description);

/** The spellings of the specification. PAYMENTS_NOTIFICATION_FIELDS names others. */
const notificationBody = z
  .looseObject({
    orderId: id("the provider's ID of the order; also order_id"),
    partnerOrderId: id(
      'the ID that the create call named; also partner_order_id, outOrderId and out_order_id',
    ),
    status: id('the status. It decides nothing: the payout queries the provider'),
  })
  .describe(
    'At least one ID is required: at the top, in `data`, in `receiver` or in `data.receiver`. `PAYMENTS_NOTIFICATION_FIELDS` names other places. All other fields are ignored',
  );

/** Anybody can send an unverified notification, so its response doesn't tell whether an id exists. */
const UNVERIFIED_RECEIPT = 'unverified';
const taken = z.strictObject({ received: z.enum([...RECEIVED, UNVERIFIED_RECEIPT]) });

type NotificationRequest = FastifyRequest<{ Params: { app: string } }>;

const NOTIFICATION_SCHEMA = {
  summary:
    'Receive a notification of the provider. Verified by the configured scheme. The content type does not matter',
  body: notificationBody,
  responses: {
    202: {
      description:
        'delivered, or kept for two minutes until its payout is known. `PAYMENTS_NOTIFICATION_RECEIPT` replaces this response',
      schema: taken,
    },
  },
  problems: {
    400: 'no notification, or the query names an application',
    401: 'not verified',
    404: 'not a valid application name',
    408: 'the request did not arrive within 10 s',
    413: 'the body exceeds 64 KiB',
    429: 'too many from this address, or about this order',
    503: 'send it again',
  },
};

const RESULTS: Record<number, NotificationResult> = {
  400: 'unusable',
  401: 'refused',
  404: 'unusable',
  413: 'unusable',
  429: 'limited',
};

export function notificationRoute(server: FastifyInstance, parts: NotificationParts): void {
  const unmatched = new FloodGate((counted) => server.log.info(counted, 'more notifications'));
  const refused = new RefusedNotifications(parts, eventLogger(server.log));
  server.addHook('onClose', async () => {
    unmatched.close();
    refused.close();
  });
  const senders = new TokenBuckets(UNVERIFIED, parts.clock);
  // In its own scope, where every body remains raw bytes.
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    // Fastify refuses a content type that it cannot parse. The verifier gets the headers as they came.
    scope.addHook('onRequest', async (request) => {
      request.headers = { 'content-type': undefined };
    });
    // Includes requests that never reach the handler.
    scope.addHook<{ Params: { app: string } }>('onError', async ({ params }, _reply, error) => {
      const { status, message } = problemFor(error);
      parts.metrics.countNotification(RESULTS[status] ?? 'not_taken');
      refused.count(params.app, message);
    });
    scope.setValidatorCompiler(() => () => true);
    const path = '/v1/notifications/:app';
    scope.post<{ Params: { app: string } }>(path, { schema: NOTIFICATION_SCHEMA }, async (request, reply) => {
      const { isVerified, received: found } = await receive(parts, { unmatched, senders }, request);
      parts.metrics.countNotification(found);
      const received = isVerified ? found : UNVERIFIED_RECEIPT;
      const { receipt = { status: 202, type: 'application/json', body: JSON.stringify({ received }) } } =
        parts;
      return reply.code(receipt.status).type(receipt.type).send(receipt.body);
    });
  });
}

async function receive(
  { verifier, receiver, fields }: NotificationParts,
  { unmatched, senders }: Counters,
  request: NotificationRequest,
): Promise<{ isVerified: boolean; received: Received }> {
  const app = applicationIn(request);
  requireNoAppInQuery(request);
  const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const { result, reason } = await verifier.verify({
    rawBody,
    headers: request.raw.headers,
    now: Date.now(),
  });
  if (result === 'rejected') throw new Problem('notification-not-verified', reason ?? 'rejected');
  const notification = parse(rawBody, fields);
  if (notification.orderId === undefined && notification.partnerOrderId === undefined)
    throw new Problem('notification-unusable', 'contains no order ID; see PAYMENTS_NOTIFICATION_FIELDS');
  const isVerified = result === 'verified';
  const network = networkOf(request.ip);
  // Verified senders have their own capacity: a flood takes nothing from them, even behind the same proxy.
  if (!isVerified && !senders.take(network))
    throw tooManyRequests('too many unverified notifications from this address', senders.waitMs(network));
  const received = await receiver.receive(app, notification, { isVerified }).catch((error: unknown) => {
    if (error instanceof TooManySignalsError)
      throw tooManyRequests('too many notifications about this order', error.waitMs);
    throw unavailable('notification-not-delivered', 'could not be delivered now: send it again', error);
  });
  if (received !== 'unknown' || unmatched.admits('unknown'))
    request.log.info({ app, received, verified: isVerified }, 'notification');
  return { isVerified, received };
}

function parse(rawBody: Buffer, fields: NotificationFields) {
  try {
    return parseNotification(rawBody, fields);
  } catch (error) {
    if (error instanceof NotificationFormatError) throw new Problem('notification-unusable', error.message);
    throw error;
  }
}

/** Stands for all applications that no key names: the sender chooses the path. */
const OTHER = 'other';

/**
 * Logs refused notifications, which anybody can send: the first of each reason, and counts of the others at the end of the
 * minute. A line has nothing of a notification: the reasons are our own words, and applications are those of the
 * configuration.
 */
class RefusedNotifications {
  private readonly parts: NotificationParts;
  private readonly log: EventLogger;
  private readonly gates = new Map<string, FloodGate>();

  constructor(parts: NotificationParts, log: EventLogger) {
    this.parts = parts;
    this.log = log;
  }

  /** `reason` must come from a small set, and contain no input. */
  count(path: string, reason: string): void {
    const { clock } = this.parts;
    const app = this.isKnown(path) ? path : OTHER;
    const write = (counted: Counted) => logEvent(this.log, 'notifications.refused', { app, ...counted });
    const gate = this.gates.get(app) ?? new FloodGate(write, clock, 1);
    this.gates.set(app, gate);
    if (gate.admits(reason))
      write({ since: new Date(clock.wallMs()).toISOString(), counts: { [reason]: 1 } });
  }

  close(): void {
    for (const gate of this.gates.values()) gate.close();
  }

  private isKnown(app: string): boolean {
    const isNamed = this.parts.callers.keys.some(
      ({ caller: { applications } }) => applications !== 'any' && applications.includes(app),
    );
    return app === 'default' || isNamed;
  }
}
