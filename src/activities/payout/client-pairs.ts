/** Pairs of client and payer that are known to work. */
import type { Client } from '@temporalio/client';
import { clientPair } from '../../contract/ids.ts';
import { storedResultSchema } from '../../contract/payout.ts';
import { readStoredRequest } from '../../contract/payout-request.ts';
import type { SendPolicy } from '../../domain/payout-record.ts';
import { throwRetryable, unlessGone } from '../../temporal/client-errors.ts';
import { firstEvents, ownResultOf, type WorkflowRun } from '../../temporal/histories.ts';
import { ownValue } from '../../temporal/own-payloads.ts';
import { listRunPage } from '../../temporal/visibility.ts';

type Ids = Parameters<typeof clientPair>[1];

export type ClientPairs = ReturnType<typeof temporalClientPairs>;

/** Whether "order not exist" proves something for the payouts of this pair. */
export async function isProven(
  pairs: ClientPairs,
  { clientPairs }: Pick<SendPolicy, 'clientPairs'>,
  environment: string,
  ids: Ids,
): Promise<boolean> {
  return clientPairs === 'trusted' || (await pairs.isKnown(environment, ids));
}

const MAX_REMEMBERED = 10_000;
/** If so many runs prove nothing, somebody else has written them. */
const MAX_LOOKED_AT = 5;

/** A known pair stays known: a payout of the pair has ended with an order. */
export function temporalClientPairs(client: Client) {
  const known = new Set<string>();
  return {
    async isKnown(environment: string, ids: Ids): Promise<boolean> {
      const pair = clientPair(environment, ids);
      if (known.has(pair)) return true;
      const query = `WorkflowType = 'payout' AND ExecutionStatus = 'Completed' AND PayoutPair = '${pair}'`;
      const { runs } = await listRunPage(client, query, MAX_LOOKED_AT);
      for (const run of runs) {
        const ended = await unlessGone(() => endedWithOrder(client, run)).catch(throwRetryable);
        if (!ended || clientPair(environment, ended) !== pair) continue;
        if (known.size >= MAX_REMEMBERED) known.clear();
        known.add(pair);
        return true;
      }
      return false;
    },
  };
}

/**
 * The request of a payout that has ended with an order. Whoever can write to the namespace can complete a workflow with
 * any search attributes, so only payloads that are encrypted for it count.
 */
async function endedWithOrder(client: Client, run: WorkflowRun): Promise<Ids | undefined> {
  const [[first], result] = await Promise.all([firstEvents(client, run, 1), ownResultOf(client, run)]);
  const { input } = first?.workflowExecutionStartedEventAttributes ?? {};
  const request = readStoredRequest(await ownValue(client, run.workflowId, input?.payloads?.[0]));
  const ended = storedResultSchema.safeParse(result);
  return request.ok && ended.data && ended.data.outcome !== 'NOT_CREATED' ? request.value : undefined;
}
