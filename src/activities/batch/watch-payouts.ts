/** Finds the changes of many payouts: by visibility, which may lag, or by describing each one. */
import { ApplicationFailure } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { failedAsBadInput, startedBefore } from '../../client/start-once.ts';
import { OUTCOMES, type PayoutPhase, PHASES, type RowOutcome } from '../../contract/codes.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { BUSY_PHASE, type OpenPayouts } from '../../domain/batch.ts';
import { type Clock, inParallel } from '../../runtime/runtime.ts';
import { VisibilityLagsError } from '../../temporal/decisive-run.ts';
import { isStopped, quoteIds } from '../../temporal/visibility.ts';
import { retryIn } from '../shared/failures.ts';

const MIN_WAIT_MS = 400;
const MAX_WAIT_MS = 15_000;
const GROWTH = 1.6;
/** After this many looks, about 8 s, any change is enough. */
const PATIENCE_LOOKS = 6;
/** About every ten minutes, after the waits have grown. */
const DESCRIBE_EVERY_LOOKS = 20;
const IDS_PER_QUERY = 100;

/** A change of one row's payout since the last look. */
export interface RowChange {
  partnerOrderId: string;
  now: { phase: PayoutPhase; needsAttention: boolean } | { ended: RowOutcome };
}

export interface WatchPayouts {
  app: string;
  open: OpenPayouts[];
  /** With fewer changes, the activity looks a few more times before it returns them. */
  minChanges: number;
}

/** Where to look. */
interface Lookup {
  client: Client;
  /** To wait for visibility. */
  clock: Clock;
}

interface Seen {
  status: { name: string };
  searchAttributes: Record<string, readonly unknown[] | undefined>;
}

/** Fails and is retried until there are `minChanges` changes. */
export async function watchPayouts(
  lookup: Lookup,
  { app, open, minChanges }: WatchPayouts,
  looks: number,
): Promise<RowChange[]> {
  const look = looks % DESCRIBE_EVERY_LOOKS === 0 ? described : movedPayouts;
  const changes = await look(lookup, app, open);
  if (changes.length >= minChanges || (changes.length > 0 && looks >= PATIENCE_LOOKS)) return changes;
  const waitMs = Math.min(MIN_WAIT_MS * GROWTH ** Math.min(looks, PATIENCE_LOOKS * 2), MAX_WAIT_MS);
  const message = 'too little has changed yet';
  throw ApplicationFailure.create({ type: 'NOTHING_CHANGED', message, ...retryIn(waitMs) });
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
