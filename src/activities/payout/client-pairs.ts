/** Pairs of client and payer that are known to work: a payout of the pair has ended with an order. */
import type { Client } from '@temporalio/client';
import { listRunPage } from '../../temporal/visibility.ts';

export interface ClientPairs {
  isKnown(pair: string): Promise<boolean>;
}

const MAX_REMEMBERED = 10_000;

/** A pair that is known stays known, so only the others are looked up again. */
export function temporalClientPairs(client: Client): ClientPairs {
  const known = new Set<string>();
  return {
    async isKnown(pair) {
      if (known.has(pair)) return true;
      const { runs } = await listRunPage(client, `WorkflowType = 'payout' AND PayoutPair = '${pair}'`, 1);
      if (runs.length === 0) return false;
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.add(pair);
      return true;
    },
  };
}
