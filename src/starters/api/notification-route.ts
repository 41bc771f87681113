/** `POST /v1/notifications/{app}`: cap, verify the raw bytes, parse, signal, answer. In this order. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { appName } from '../../contract/payout-request.ts';
import {
  type NotificationFields,
  NotificationFormatError,
  type NotificationVerifier,
  parseNotification,
} from '../../payments/index.ts';
import type { NotificationEnd, ServiceMetrics } from './metrics.ts';
import { Problem } from './problem.ts';
import type { Received, Receiver } from './receiver.ts';

export interface NotificationParts {
  receiver: Receiver;
  verifier: NotificationVerifier;
  fields: NotificationFields;
  metrics: ServiceMetrics;
}

const TRY_AGAIN_IN_SECONDS = 5;

export function notificationRoute(server: FastifyInstance, parts: NotificationParts): void {
  // In a scope of its own, for here every body stays the bytes that were sent.
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.post<{ Params: { app: string } }>('/v1/notifications/:app', async (request, reply) => {
      const received = await counted(parts.metrics, () => take(parts, request));
      return reply.code(202).send({ received });
    });
  });
}

async function take(
  parts: NotificationParts,
  request: FastifyRequest<{ Params: { app: string } }>,
): Promise<Received> {
  const app = appName.safeParse(request.params.app);
  if (!app.success) throw new Problem(404, 'there is no such application');
  const rawBody = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const { headers } = request;
  const { result, reason } = await parts.verifier.verify({ rawBody, headers, now: Date.now() });
  if (result === 'rejected') throw new Problem(401, `not verified: ${reason ?? 'rejected'}`);
  const received = await bring(parts, app.data, rawBody);
  request.log.info({ app: app.data, received, verified: result === 'verified' }, 'notification');
  return received;
}

async function counted(metrics: ServiceMetrics, work: () => Promise<Received>): Promise<Received> {
  try {
    const received = await work();
    metrics.notified(received);
    return received;
  } catch (error) {
    metrics.notified((error instanceof Problem && ENDS[error.status]) || 'not_taken');
    throw error;
  }
}

const ENDS: Record<number, NotificationEnd> = { 400: 'unusable', 401: 'refused', 404: 'unusable' };

async function bring(
  { receiver, fields }: NotificationParts,
  app: string,
  rawBody: Buffer,
): Promise<Received> {
  const heard = read(rawBody, fields);
  if (heard.orderId === undefined && heard.partnerOrderId === undefined)
    throw new Problem(400, 'holds neither order nor partner number; see PAYMENTS_NOTIFICATION_FIELDS');
  try {
    return await receiver.receive(app, heard);
  } catch {
    // Whatever kept Temporal from having it: it was not taken, and must be sent again.
    throw new Problem(503, 'could not be handed on now', TRY_AGAIN_IN_SECONDS);
  }
}

function read(rawBody: Buffer, fields: NotificationFields) {
  try {
    return parseNotification(rawBody, fields);
  } catch (error) {
    if (error instanceof NotificationFormatError) throw new Problem(400, error.message);
    throw error;
  }
}
