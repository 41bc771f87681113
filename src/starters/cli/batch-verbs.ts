/** `batch FILE`, and below it the verbs for existing batches. */
import type { Command } from 'commander';
import type { BatchOptions } from './batches.ts';
import { withPayouts } from './files.ts';
import { checkedPage, checkedRange, type RangeOptions } from './options.ts';
import {
  type AddVerb,
  type Common,
  type Confirmable,
  confirmed,
  perform,
  STARTED_BY,
  verbsOf,
  withOutput,
  withPages,
  YES,
} from './verb.ts';

const batchCheck = () => import('../../client/checked-batch.ts');
const batches = () => import('./batches.ts');

export function batchVerbs(verb: AddVerb): void {
  const batch = verb<BatchOptions & Common & Confirmable>(
    'batch <file>',
    'pay all rows of FILE: CSV, NDJSON or a JSON array; its subcommands are for existing batches',
    async (file, options) => {
      const { checkedBatch } = await batchCheck();
      const checked = await withPayouts(file, (payouts) =>
        checkedBatch({ app: options.app, batchId: 'unnamed', payouts, lines: payouts.lines }),
      );
      const { paymentText } = await import('./payout-file.ts');
      return confirmed(options, paymentText(checked.rows), async (session) =>
        (await batches()).batch(session, checked, options),
      );
    },
  )
    .option(...YES)
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
  below<Common & Confirmable>(
    'cancel <id>',
    'stop starting rows of a batch; payouts that were already started continue',
    (id, options) =>
      confirmed(options, `cancel batch ${id}`, async (session) =>
        (await batches()).cancel(session, ref(id, options)),
      ),
  ).option(...YES);
  // Here --app is a filter without a default.
  withPages(withOutput(batch.command('list')).description('list batches'))
    .option('--open', 'only open batches')
    .option('--app <name>', 'only this application')
    .action(({ open, ...range }: RangeOptions & { open?: true }, command: Command) => {
      const [filter, page] = [{ open, ...checkedRange(range) }, checkedPage(range)];
      return perform(command, async (session) => (await batches()).list(session, filter, page));
    });
}
