/** How many workflows stand still, for a metric that many may scrape: Temporal is asked once a minute. */
import type { Client } from '@temporalio/client';
import { knownFailingWorkflows } from '../../temporal/failing-workflows.ts';

const KEPT_MS = 60_000;
/** A scrape waits for it. */
const ANSWERS_WITHIN_MS = 3_000;

/** Answers undefined where neither a reconciliation nor the server has looked, or Temporal does not answer. */
export function failingCount(client: Client, environment: string): () => Promise<number | undefined> {
  let kept: { count: Promise<number | undefined>; untilMs: number } | undefined;
  return async () => {
    if (kept && performance.now() < kept.untilMs) return kept.count;
    kept = { count: counted(client, environment), untilMs: performance.now() + KEPT_MS };
    const count = await kept.count;
    if (count === undefined) kept = undefined;
    return count;
  };
}

async function counted(client: Client, environment: string): Promise<number | undefined> {
  try {
    const ask = () => knownFailingWorkflows(client, environment);
    return (await client.withDeadline(Date.now() + ANSWERS_WITHIN_MS, ask))?.length;
  } catch {
    return undefined;
  }
}
