/**
 * What has become of many payouts, asked of the visibility store by one query for each hundred: it answers only
 * those that have moved. Visibility may lag or lose, so now and then each payout is asked for by itself.
 */
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { failedAsBadInput } from '../../client/bad-input.ts';
import { payoutWorkflowId } from '../../contract/ids.ts';
import { BUSY_PHASE, type OpenPayouts } from '../../domain/batch-record.ts';
import { OUTCOMES, PHASES } from '../../domain/payout.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { decisiveRun, VisibilityLagsError } from '../../temporal/decisive-run.ts';
import { isStopped } from '../../temporal/stopped.ts';
import { quoteIds } from '../../temporal/visibility.ts';
import { inParallel } from '../shared/in-parallel.ts';
import type { RowNews } from './batch-types.ts';

const IDS_IN_A_QUERY = 100;
const DESCRIBED_AT_ONCE = 8;

/** Where it is looked, and by which clock a lag of visibility is waited for. */
export interface LookingEngine {
  client: Client;
  clock: Clock;
}

interface Seen {
  status: { name: string };
  searchAttributes: Record<string, readonly unknown[] | undefined>;
}

export async function movedPayouts(
  engine: LookingEngine,
  app: string,
  open: readonly OpenPayouts[],
): Promise<RowNews[]> {
  const news: RowNews[] = [];
  for (const known of open)
    for (const numbers of chunks(known.numbers, IDS_IN_A_QUERY))
      news.push(...(await moved(engine, app, { ...known, numbers })));
  return news;
}

async function moved(engine: LookingEngine, app: string, known: OpenPayouts): Promise<RowNews[]> {
  const numberOf = new Map(known.numbers.map((number) => [payoutWorkflowId(app, number), number]));
  // A payout that was stopped more than once has a run for each time.
  const unclear = new Set<string>();
  const news = new Map<string, RowNews>();
  for await (const run of engine.client.workflow.list({ query: queryOf(known, [...numberOf.keys()]) })) {
    const partnerOrderId = numberOf.get(run.workflowId);
    if (partnerOrderId === undefined) continue;
    const now = standing(run);
    if (now) news.set(partnerOrderId, { partnerOrderId, now });
    else unclear.add(partnerOrderId);
  }
  // A run that has no outcome may have a successor, by a reset or a new start: the id decides.
  const numbers = [...unclear].filter((number) => !news.has(number));
  return [...news.values(), ...(await described(engine, app, [{ ...known, numbers }]))];
}

/** Asks the engine itself about each: costs a call a payout, and is always true. */
export async function described(
  engine: LookingEngine,
  app: string,
  open: readonly OpenPayouts[],
): Promise<RowNews[]> {
  const all = open.flatMap((known) => known.numbers.map((number) => ({ known, number })));
  const found = await inParallel(DESCRIBED_AT_ONCE, all, async ({ known, number }) => {
    const now = await describedNow(engine, payoutWorkflowId(app, number));
    return now && isNews(known, now) ? [{ partnerOrderId: number, now }] : [];
  });
  return found.flat();
}

function isNews(known: OpenPayouts, now: RowNews['now']): boolean {
  return 'ended' in now || now.phase !== known.phase || now.needsAttention !== known.needsAttention;
}

/** Undefined: its workflow was stopped, which is no end. The reconciliation starts it again (H10). */
async function describedNow(engine: LookingEngine, workflowId: string): Promise<RowNews['now'] | undefined> {
  try {
    const { client } = engine;
    const found = await client.workflow.getHandle(workflowId).describe();
    const now = standing(found);
    if (now) return now;
    if (!isStopped(found.status)) return { ended: 'stopped' };
    const isBad = found.status.name === 'FAILED' && (await failedAsBadInput(client, workflowId, found.runId));
    return isBad ? await beforeBadInput(engine, workflowId, found.runId) : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { ended: 'stopped' };
    if (error instanceof VisibilityLagsError) return undefined;
    throw error;
  }
}

/** A run that fails as bad input hides those before it, which may have sent something or have ended. */
async function beforeBadInput(
  { client, clock }: LookingEngine,
  workflowId: string,
  runId: string,
): Promise<RowNews['now'] | undefined> {
  const counts = await decisiveRun(client, workflowId, { runId, isBadInput: true }, clock);
  if (!counts) return { ended: 'invalid' };
  return counts.saidNotCreated ? { ended: 'NOT_CREATED' } : undefined;
}

/** Undefined where this run alone does not say. */
function standing({ status, searchAttributes }: Seen): RowNews['now'] | undefined {
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
