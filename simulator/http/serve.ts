/** Serves a call: records it, counts it against the rate limit, then lets a fault hit it or handles it. */
import { injectFault } from '../faults/inject.ts';
import { isJsonObject } from '../json.ts';
import { sleep } from '../runtime.ts';
import type { World } from '../world.ts';
import { rateLimited } from './envelope.ts';
import { type AnswerSink, credentialOf, Exchange, type Incoming } from './exchange.ts';
import { type Operation, parsedOrNothing, type Received } from './operation.ts';

export async function serve(
  world: World,
  operation: Operation,
  incoming: Incoming,
  sink: AnswerSink,
): Promise<void> {
  const { arrivedAtMs, isOnUsedConnection, ...rest } = incoming;
  const received: Received = { ...rest, world, app: undefined, token: undefined };
  const body = parsedOrNothing(received.rawBody);
  const credential = credentialOf(world, received.headers.authorization);
  const call = world.ledger.call(operation.name);
  call.appId = credential.record?.appId ?? received.query['app_id'] ?? textIn(body, 'app_id');
  call.partnerOrderId = partnerOrderIdOf(world, operation, received, body);
  if (operation.auth !== 'none') call.token = credential.state;
  const create =
    operation.name === 'createCnyOrder'
      ? world.ledger.create(received.rawBody, call.partnerOrderId)
      : undefined;
  const exchange = new Exchange({ operation, received, credential, sink, call, create });

  if (isOnUsedConnection && world.settings.usedConnections === 'reset') {
    call.fault = 'reset-connection';
    return exchange.drop();
  }
  const { callsPerSecond, rejectedCallsCount, arrivesAfterMs, answersAfterMs } = world.settings;
  const isDelayed = await delay(world, arrivesAfterMs);
  if (
    !world.rateLimit.admit(
      call.appId ?? '',
      isDelayed ? world.clock.nowMs() : arrivedAtMs,
      callsPerSecond,
      rejectedCallsCount,
    )
  ) {
    if (create) create.effect = 'refused';
    return exchange.send(rateLimited(world.settings));
  }
  await delay(world, answersAfterMs);
  const injected = world.faults.faultFor(operation.name, call.partnerOrderId);
  if (!injected) return exchange.send(await exchange.perform());
  call.fault = injected.fault.kind;
  return injectFault(exchange, injected);
}

/** Returns whether it waited. */
async function delay({ clock, random }: World, [min, max]: readonly [number, number]): Promise<boolean> {
  if (max === 0) return false;
  await sleep(clock, min + random.number() * (max - min));
  return true;
}

function partnerOrderIdOf(
  world: World,
  operation: Operation,
  received: Received,
  body: unknown,
): string | null {
  if (operation.name === 'queryDetail')
    return world.orders.byOrderId(received.params['orderId'] ?? '')?.outOrderId ?? null;
  return textIn(body, 'partner_order_id') ?? textIn(body, 'outOrderId');
}

function textIn(body: unknown, field: string): string | null {
  const value = isJsonObject(body) ? body[field] : undefined;
  return typeof value === 'string' ? value : null;
}
