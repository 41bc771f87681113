/** Statements over a period and of a batch, and what finished in a period, for a caller and within its scope. */
import type { Client } from '@temporalio/client';
import type { z } from 'zod';
import type { Batches } from '../client/batches.ts';
import { endedQuery } from '../client/lists.ts';
import type { Payouts } from '../client/payouts.ts';
import { isListed, type WithDeadline } from '../client/statements.ts';
import type { Caller } from '../config/callers.ts';
import type { Statement, StatementRow } from '../contract/statement.ts';
import { isScoped } from '../domain/permissions.ts';
import type { Clock } from '../runtime/runtime.ts';
import { countedByOutcome, countsOf, lastFinished } from './finished.ts';
import {
  isPayoutWithinScope,
  listedWithin,
  requireOwnBatch,
  requirePermission,
  visibleRows,
} from './permissions.ts';
import type { BatchId, statementQuery } from './requests.ts';
import { Shares } from './shares.ts';
import type { Waits } from './waits.ts';

/** Each reads eight payouts at a time, for as long as its caller takes rows. */
const MAX_STATEMENTS = 4;

type Period = Pick<z.output<typeof statementQuery>, 'from' | 'to' | 'app'>;

interface StatementsOptions {
  client: Client;
  payouts: Payouts;
  batches: Batches;
  clock: Clock;
  waits: Waits;
  withDeadline: WithDeadline;
}

export class Statements {
  private readonly options: StatementsOptions;
  private readonly shares = new Shares(MAX_STATEMENTS, 'too many statements are being read');

  constructor(options: StatementsOptions) {
    this.options = options;
  }

  /**
   * Throws before the first row if it cannot be read. `gone` is aborted when the response is over. Without `app`,
   * of every application of the caller.
   */
  async period(caller: Caller, { from, to, app }: Period, gone: AbortSignal) {
    const { payouts, clock, withDeadline } = this.options;
    const within = listedWithin(caller, app);
    const isFinal = isListed(to, clock);
    return this.shared(caller, gone, async () => ({
      rows: payouts.statement({ from, to, app, ...within }, withDeadline),
      isFinal,
    }));
  }

  /** The same for the rows of a batch. */
  async batch(caller: Caller, id: BatchId, gone: AbortSignal) {
    const { batches } = this.options;
    requirePermission(caller, 'read', id.app);
    await requireOwnBatch(caller, id, () => batches.startedBy(id));
    return this.shared(caller, gone, () => batches.statement(id));
  }

  /**
   * The counts by outcome, and the last payouts that finished in the period. `isCut`: there are more. Counts of a limited
   * caller cover only these, because a count by Temporal covers all callers (H339).
   */
  async finished(caller: Caller, period: Period) {
    const { client, withDeadline } = this.options;
    const query = endedQuery({ ...period, ...listedWithin(caller, period.app) });
    return withDeadline(async () => {
      const { payouts: all, isCut } = await lastFinished(client, query);
      const payouts = visibleRows(caller, all);
      const counts = isScoped(caller) ? countsOf(payouts) : await countedByOutcome(client, query);
      return { counts, payouts, isCut };
    });
  }

  private async shared(caller: Caller, gone: AbortSignal, read: () => Promise<Statement>) {
    gone.throwIfAborted();
    gone.addEventListener('abort', this.shares.take(caller.actsFor ?? caller.name, 1));
    const { rows, isFinal } = await read();
    return { rows: withinScope(caller, await begun(rows)), isFinal, stop: this.options.waits.closed };
  }
}

/** Resolves when the first row has been read: until then, an error can become a response. */
async function begun<T>(all: AsyncIterable<T>): Promise<AsyncIterable<T>> {
  const items = all[Symbol.asyncIterator]();
  let next = await items.next();
  return (async function* () {
    for (; !next.done; next = await items.next()) yield next.value;
  })();
}

async function* withinScope(caller: Caller, rows: AsyncIterable<StatementRow>): AsyncGenerator<StatementRow> {
  for await (const row of rows) if (isPayoutWithinScope(caller, row)) yield row;
}
