/** Finds the changes of many payouts: by visibility, which may lag, or by describing each one. */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { failedAsBadInput, startedBefore } from '../../client/bad-input.ts';
import { OUTCOMES, PHASES } from '../../contract/codes.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { BUSY_PHASE, type OpenPayouts } from '../../domain/batch.ts';
import { inParallel } from '../../runtime/in-parallel.ts';
import type { Clock } from '../../runtime/runtime.ts';
import { VisibilityLagsError } from '../../temporal/decisive-run.ts';
import { isStopped, quoteIds } from '../../temporal/visibility.ts';
import type { RowChange } from './batch-types.ts';

const IDS_PER_QUERY = 100;
/** Where to look. */
export interface Lookup {
  client: Client;
  /** To wait for visibility. */
  clock: Clock;
}

interface Seen {
  status: { name: string };
  searchAttributes: Record<string, readonly unknown[] | undefined>;
}

export async function movedPayouts(
  lookup: Lookup,
  app: string,
  open: readonly OpenPayouts[],
): Promise<RowChange[]> {
  const changes: RowChange[] = [];
  for (const known of open)
    for (const partnerOrderIds of chunks(known.partnerOrderIds, IDS_PER_QUERY))
      changes.push(...(await moved(lookup, app, { ...known, partnerOrderIds })));
  return changes;
}

async function moved(lookup: Lookup, app: string, known: OpenPayouts): Promise<RowChange[]> {
  const idOf = new Map(known.partnerOrderIds.map((id) => [payoutWorkflowId(app, id), id]));
  // A stopped payout may have several runs.
  const unclear = new Set<string>();
  const changes = new Map<string, RowChange>();
  for await (const run of lookup.client.workflow.list({ query: queryOf(known, [...idOf.keys()]) })) {
    const partnerOrderId = idOf.get(run.workflowId);
    if (partnerOrderId === undefined) continue;
    const now = standing(run);
    if (now) changes.set(partnerOrderId, { partnerOrderId, now });
    else unclear.add(partnerOrderId);
  }
  // A run without an outcome may have a successor, so describe the id.
  const partnerOrderIds = [...unclear].filter((id) => !changes.has(id));
  return [...changes.values(), ...(await described(lookup, app, [{ ...known, partnerOrderIds }]))];
}

/** Describes each payout. One call per payout, always current. */
export async function described(
  lookup: Lookup,
  app: string,
  open: readonly OpenPayouts[],
): Promise<RowChange[]> {
  const all = open.flatMap((known) => known.partnerOrderIds.map((id) => ({ known, id })));
  const found = await inParallel(all, async ({ known, id }) => {
    const now = await describedNow(lookup, payoutWorkflowId(app, id));
    return now && isChange(known, now) ? [{ partnerOrderId: id, now }] : [];
  });
  return found.flat();
}

function isChange(known: OpenPayouts, now: RowChange['now']): boolean {
  return 'ended' in now || now.phase !== known.phase || now.needsAttention !== known.needsAttention;
}

/** Undefined if the workflow was stopped: the reconciliation will restart it (H10). */
async function describedNow(lookup: Lookup, workflowId: string): Promise<RowChange['now'] | undefined> {
  try {
    const { client } = lookup;
    const found = await client.workflow.getHandle(workflowId).describe();
    const now = standing(found);
    if (now) return now;
    if (!isStopped(found.status)) return { ended: 'stopped' };
    const isBad = found.status.name === 'FAILED' && (await failedAsBadInput(client, workflowId, found.runId));
    return isBad ? await beforeBadInput(lookup, workflowId, found.runId) : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { ended: 'stopped' };
    if (error instanceof VisibilityLagsError) return undefined;
    throw error;
  }
}

/** Earlier runs may have sent something or have ended. */
async function beforeBadInput(
  { client, clock }: Lookup,
  workflowId: string,
  runId: string,
): Promise<RowChange['now'] | undefined> {
  const decisive = await startedBefore(client, clock, { workflowId, runId });
  if (!decisive) return { ended: 'invalid' };
  return decisive.saidNotCreated ? { ended: 'NOT_CREATED' } : undefined;
}

/** Undefined if this run alone does not show it. */
function standing({ status, searchAttributes }: Seen): RowChange['now'] | undefined {
  const attribute = (name: string) => searchAttributes[name]?.[0];
  if (status.name === 'RUNNING' || status.name === 'PAUSED') {
    const phase = PHASES.find((known) => known === attribute('PayoutPhase')) ?? BUSY_PHASE;
    return { phase, needsAttention: attribute('PayoutNeedsAttention') === true };
  }
  const outcome = OUTCOMES.find((known) => known === attribute('PayoutOutcome'));
  return status.name === 'COMPLETED' && outcome ? { ended: outcome } : undefined;
}

function queryOf({ phase, needsAttention }: OpenPayouts, workflowIds: readonly string[]): string {
  const moves = `PayoutPhase != '${phase}' OR PayoutNeedsAttention = ${!needsAttention}`;
  return `WorkflowId IN (${quoteIds(workflowIds)}) AND ExecutionStatus != 'ContinuedAsNew' AND (ExecutionStatus != 'Running' OR ${moves})`;
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) =>
    items.slice(at * size, (at + 1) * size),
  );
}
