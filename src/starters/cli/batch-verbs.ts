/** `batch FILE`, and below it the verbs for existing batches. */
import type { BatchOptions } from './batches.ts';
import { batchRows, readBytes } from './files.ts';
import { checkedLimit, checkedRange, type RangeOptions } from './options.ts';
import { type AddVerb, type Common, CREATED_FROM, CREATED_TO, perform, STARTED_BY, verbsOf } from './verb.ts';

const batchCheck = () => import('../../client/checked-batch.ts');
const batches = () => import('./batches.ts');

export function batchVerbs(verb: AddVerb): void {
  const batch = verb<BatchOptions & Common>(
    'batch <file>',
    'pay all rows of FILE, a JSON array or NDJSON; its subcommands are for existing batches',
    async (file, options) => {
      const payouts = batchRows(readBytes(file), file);
      const { checkedBatch } = await batchCheck();
      const { rows } = await checkedBatch({ app: options.app, batchId: 'unnamed', payouts });
      return async (session) => (await batches()).batch(session, rows, options);
    },
  )
    .option('--batch-id <id>', 'the id of the batch; by default derived from the rows')
    .option(...STARTED_BY)
    .option('--watch', 'show the progress and wait for the end');
  const below = verbsOf(batch);
  const ref = (batchId: string, { app }: Common) => ({ app, batchId });
  below(
    'status <id>',
    'show the state of a batch',
    (id, options) => async (session) => (await batches()).status(session, ref(id, options)),
  );
  below(
    'cancel <id>',
    'stop starting rows of a batch; payouts that were already started continue',
    (id, options) => async (session) => (await batches()).cancel(session, ref(id, options)),
  );
  // Here --app is a filter without a default.
  batch
    .command('list')
    .description('list batches')
    .option('--open', 'only open batches')
    .option('--app <name>', 'only this application')
    .option(...CREATED_FROM)
    .option(...CREATED_TO)
    .option('--limit <count>', 'the maximum number of rows', '50')
    .option('--json', 'print one JSON document')
    .action(({ open, json, limit, ...range }: RangeOptions & { open?: true; limit: string; json?: true }) => {
      const [filter, count] = [{ open, ...checkedRange(range) }, checkedLimit(limit)];
      return perform(json, async (session) => (await batches()).list(session, filter, count));
    });
}
