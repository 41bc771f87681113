/** The one place where money is set in motion. */
import { CreateRefusedError, InvalidRequestError, type PaymentsClient } from '../payments/index.ts';
import { optionsOf } from './caller-options.ts';
import { asFailure } from './failures.ts';
import { type Claim, mustNotSend, surelyNotSent } from './send-once.ts';
import type { Caller, CreateAnswer, CreateOrder } from './types.ts';

/**
 * Sends the create, unless this run cannot be sure that nobody has sent it before; then says so and sends
 * nothing. Throws when it was sent and no answer can be trusted: the order may exist.
 */
export async function createPayout(
  client: PaymentsClient,
  stillOurs: Claim,
  caller: Caller,
  create: CreateOrder,
): Promise<CreateAnswer> {
  const deadline = performance.now() + create.sendWithinMs;
  const held = await mustNotSend(stillOurs, create);
  if (held) return held;
  try {
    const order = await client.createPayout(create.order, {
      ...optionsOf(caller),
      deadline,
      beforeSend: () => refuseDeadLock(create.lockExpiresAtMs),
    });
    return { kind: 'created', order };
  } catch (error) {
    return answerOf(error);
  }
}

function refuseDeadLock(expiresAtMs: number): void {
  if (Date.now() >= expiresAtMs) throw new Error('the lock ran out while the create waited for its turn');
}

function answerOf(error: unknown): CreateAnswer {
  if (error instanceof CreateRefusedError)
    return { kind: 'not-created', meaning: error.meaning, message: error.message };
  // Our own check of the body: nothing was sent, and it can only be wrong again.
  if (error instanceof InvalidRequestError)
    return { kind: 'not-created', meaning: 'refused', message: error.message };
  const nothing = surelyNotSent(error);
  if (nothing) return nothing;
  throw asFailure(error);
}
