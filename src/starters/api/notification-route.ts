/**
 * `POST /v1/notifications/{app}`: limits the size, verifies the raw bytes, parses, limits unverified senders, signals the
 * payout, responds.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Receipt } from '../../config/api-config.ts';
import type { Callers } from '../../config/callers.ts';
import { appName } from '../../contract/fields.ts';
import { eventLogger } from '../../observability/log.ts';
import {
  type NotificationFields,
  NotificationFormatError,
  type NotificationVerifier,
  parseNotification,
} from '../../payments/index.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { networkOf, TokenBuckets } from '../../runtime/token-buckets.ts';
import { Problem, tooManyRequests, unavailable } from '../../service/problem.ts';
import { requireNoAppInQuery } from './bodies.ts';
import { problemFor } from './error-mapping.ts';
import { FloodGate } from './flood-gate.ts';
import type { ApiMetrics, NotificationResult } from './metrics.ts';
import type { Received, Receiver } from './receiver.ts';
import { RefusedNotifications } from './refused-notifications.ts';
import { TooManySignalsError } from './signal-coalescer.ts';

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

/** What the route remembers of earlier notifications. */
interface Counters {
  unmatched: FloodGate;
  senders: TokenBuckets;
}

type NotificationRequest = FastifyRequest<{ Params: { app: string } }>;

const RESULTS: Record<number, NotificationResult> = {
  400: 'unusable',
  401: 'refused',
  404: 'unusable',
  413: 'unusable',
  429: 'limited',
};

export function notificationRoute(server: FastifyInstance, parts: NotificationParts): void {
  const unmatched = new FloodGate((counted) => server.log.info(counted, 'more notifications'));
  const refused = new RefusedNotifications({ ...parts, log: eventLogger(server.log) });
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
    // Also of a request that never reaches the handler.
    scope.addHook<{ Params: { app: string } }>('onError', async ({ params }, _reply, error) => {
      const { status, message } = problemFor(error);
      parts.metrics.countNotification(RESULTS[status] ?? 'not_taken');
      refused.count(params.app, message);
    });
    scope.post<{ Params: { app: string } }>('/v1/notifications/:app', async (request, reply) => {
      const received = await receive(parts, { unmatched, senders }, request);
      parts.metrics.countNotification(received);
      const { status, type, body } = parts.receipt ?? {
        ...{ status: 202, type: 'application/json', body: JSON.stringify({ received }) },
      };
      return reply.code(status).type(type).send(body);
    });
  });
}

async function receive(
  { verifier, receiver, fields }: NotificationParts,
  { unmatched, senders }: Counters,
  request: NotificationRequest,
): Promise<Received> {
  const app = appName.safeParse(request.params.app);
  if (!app.success) throw new Problem('not-found', 'no such application');
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
    throw new Problem('notification-unusable', 'contains no order id; see PAYMENTS_NOTIFICATION_FIELDS');
  const isVerified = result === 'verified';
  const network = networkOf(request.ip);
  // Verified senders have their own capacity: a flood takes nothing from them, also behind the same proxy.
  if (!isVerified && !senders.take(network))
    throw tooManyRequests('too many unverified notifications from this address', senders.waitMs(network));
  const received = await receiver.receive(app.data, notification).catch((error: unknown) => {
    if (error instanceof TooManySignalsError)
      throw tooManyRequests('too many notifications about this order', error.waitMs);
    throw unavailable('notification-not-delivered', 'could not be delivered now: send it again', error);
  });
  if (received !== 'unknown' || unmatched.admits('unknown'))
    request.log.info({ app: app.data, received, verified: isVerified }, 'notification');
  return received;
}

function parse(rawBody: Buffer, fields: NotificationFields) {
  try {
    return parseNotification(rawBody, fields);
  } catch (error) {
    if (error instanceof NotificationFormatError) throw new Problem('notification-unusable', error.message);
    throw error;
  }
}
