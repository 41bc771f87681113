/**
 * Runs the operations of the API for a person, so that their verbs, scopes and amounts are checked in one place. The
 * answers of the operations are read as the pages need them.
 */
import { z } from 'zod';
import { BatchFile } from '../batch-file/batch-file.ts';
import type { Caller, Verb } from '../config/callers.ts';
import { appName } from '../contract/fields.ts';
import { storedResultSchema, storedStateSchema } from '../contract/payout.ts';
import {
  acknowledgement,
  approval,
  batchQuery,
  batchRef,
  cancellation,
  openingId,
  openingResolution,
  pauseReason,
  payoutId,
  payoutQuery,
  refusal,
  resolution,
  valid,
} from '../service/requests.ts';
import type { Service } from '../service/service.ts';

/** Pages show a code that a newer worker writes as it is, and no field that they do not know. */
export type ShownState = z.output<typeof storedStateSchema>;

export const payoutAnswer = z.object({
  state: storedStateSchema,
  result: storedResultSchema.optional(),
});

export const payoutPageAnswer = z.object({
  payouts: z.array(
    z.object({
      ...{ partnerOrderId: z.string(), app: z.string(), phase: z.string(), outcome: z.string() },
      ...{ needsAttention: z.boolean(), orderId: z.string(), startedAt: z.string(), workflow: z.string() },
    }),
  ),
  nextCursor: z.string().optional(),
});

interface Input {
  params?: object;
  query?: object;
  body?: unknown;
}

export class Acting {
  private readonly service: Service;

  constructor(service: Service) {
    this.service = service;
  }

  /** `name`: method and path, such as `GET /v1/payouts`. Throws what the route throws. */
  async run(caller: Caller, name: string, { params = {}, query = {}, body }: Input = {}): Promise<unknown> {
    const { service } = this;
    const id = { ...params, ...query };
    switch (name) {
      case 'GET /v1/payouts':
        return service.listPayouts(caller, valid(payoutQuery, query));
      case 'GET /v1/payouts/{partnerOrderId}':
        return service.payout(caller, valid(payoutId, id));
      case 'POST /v1/payouts/{partnerOrderId}/approve':
        return service.approve(caller, valid(payoutId, id), valid(approval.optional(), body));
      case 'POST /v1/payouts/{partnerOrderId}/refuse':
        return service.refuse(caller, valid(payoutId, id), valid(refusal.optional(), body));
      case 'POST /v1/payouts/{partnerOrderId}/cancel':
        return service.cancel(caller, valid(payoutId, id), valid(cancellation, body));
      case 'POST /v1/payouts/{partnerOrderId}/resolve':
        return service.resolve(caller, valid(payoutId, id), valid(resolution, body));
      case 'POST /v1/payouts/{partnerOrderId}/acknowledge':
        return service.acknowledge(caller, valid(payoutId, id), valid(acknowledgement, body));
      case 'POST /v1/payouts/{partnerOrderId}/poll':
        return service.poll(caller, valid(payoutId, id));
      case 'GET /v1/payout-batches':
        return service.listBatches(caller, valid(batchQuery, query));
      case 'GET /v1/payout-batches/{batchId}':
        return { state: await service.batch(caller, valid(batchRef, id)) };
      case 'POST /v1/payout-batches/{batchId}/cancel':
        return { state: await service.cancelBatch(caller, valid(batchRef, id)) };
      case 'POST /v1/payout-batches':
        return { state: await service.startBatch(caller, { ...valid(batchRef, query), ...fileOf(body) }) };
      case 'GET /v1/receiving-accounts/{requestId}':
        return service.receivingAccount(caller, valid(openingId, id));
      case 'POST /v1/receiving-accounts/{requestId}/resolve':
        return service.resolveReceivingAccount(caller, valid(openingId, id), valid(openingResolution, body));
      case 'POST /v1/applications/{app}/pause':
        return service.pause(caller, valid(application, params).app, valid(pauseReason, body));
      case 'POST /v1/applications/{app}/resume':
        return service.resume(caller, valid(application, params).app);
      default:
        throw new Error(`there is no operation ${name}`);
    }
  }
}

const application = z.strictObject({ app: appName });

function fileOf(body: unknown) {
  if (!(body instanceof BatchFile)) throw new Error('a batch is a file');
  return { payouts: body, lines: body.lines };
}

export function may({ verbs }: Caller, verb: Verb): boolean {
  return verbs.includes(verb);
}
