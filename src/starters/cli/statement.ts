/** `statement` and `batch results`: rows for spreadsheets and programs, printed while they are read. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { Statement, StatementFormat } from '../../contract/statement.ts';
import { PROCESS_RUNTIME } from '../../runtime/process.ts';
import { ANY_APP, command, ID, long, time } from './command.ts';
import type { Output } from './output.ts';
import type { Session } from './session.ts';
import { colors } from './text.ts';

const FORMAT = new Option('--format <format>', 'the format; with --json: json')
  .choices(['csv', 'ndjson', 'json'])
  .default('csv' as const);

const DETAILS = new Option('--details', 'CSV also has the debits, splits and later returns of each payout');

export function statementCommand(program: Command): void {
  program
    .command('statement')
    .description('print a row for each payout that finished in a period, the last to finish first')
    .addOption(ANY_APP)
    .requiredOption('--from <time>', 'finished at this time or later, or on this day (UTC)', time)
    .requiredOption('--to <time>', 'finished before this time, or before this day (UTC)', time)
    .addOption(FORMAT)
    .addOption(DETAILS)
    .action(
      long(({ format, details, ...filter }) => async (session) => {
        const { isListed } = await import('../../client/statements.ts');
        const rows = session.payouts.statement(filter, session.withDeadline);
        return printed(
          session,
          { format, details },
          { rows, isFinal: isListed(filter.to, PROCESS_RUNTIME.clock) },
        );
      }),
    );
}

export function batchResultsCommand(batch: CommandUnknownOpts): void {
  command(batch, 'results', 'print a row for each row of a batch, with the result of its payout')
    .addArgument(ID)
    .addOption(FORMAT)
    .addOption(DETAILS)
    .action(
      long((batchId, { app, format, details }) => async (session) => {
        return printed(session, { format, details }, await session.batches.statement({ app, batchId }));
      }),
    );
}

async function printed(
  session: Session,
  { format, details }: { format: StatementFormat; details?: true | undefined },
  statement: Statement,
): Promise<Output> {
  const { statementText } = await import('../../batch-file/statement-file.ts');
  const text = statementText(session.json ? 'json' : format, statement, details);
  await pipeline(Readable.from(text), process.stdout, { end: false });
  if (!statement.isFinal) process.stderr.write(`${colors.yellow('not final: rows may follow')}\n`);
  return { json: undefined, text: '', isPrinted: true };
}
