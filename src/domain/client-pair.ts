/**
 * Which `clientId` belongs to which payer. The create call names the payer (by its quote), the trade queries name the
 * client, and nothing that the provider answers says that both belong together, except an order of this payer that a trade
 * query has shown under this client. Until then, "order not exist" proves nothing (H235).
 */
import { fairnessKey } from './fairness.ts';
import type { CheckedPayoutRequest } from './payout.ts';

/** A hash, because Temporal does not encrypt search attributes. */
export function clientPair(
  environment: string,
  { app, clientId, payerId }: Pick<CheckedPayoutRequest, 'app' | 'clientId' | 'payerId'>,
): string {
  return fairnessKey(JSON.stringify([environment, app, clientId, payerId]));
}
