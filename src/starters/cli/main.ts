/** The command line, `payouts <command>`. Connects to Temporal only. */
import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { VERSION } from '../../config/version.ts';
import { EXIT } from '../../contract/errors.ts';
import { accountCommands } from './accounts.ts';
import { applicationCommands, doctorCommand } from './applications.ts';
import { batchCommands } from './batches.ts';
import { JSON_OUTPUT } from './command.ts';
import { completionCommand } from './completion.ts';
import { decisionCommands } from './decisions.ts';
import { eventCommands } from './events.ts';
import { listCommand } from './lists.ts';
import { endWithReader, printFailure, UsageError } from './output.ts';
import { payoutCommands } from './payouts.ts';
import { reportCommand } from './report.ts';
import { settingsCommand } from './settings.ts';
import { statementCommand } from './statement.ts';

const HELP_TAIL = `
Exit codes: 0 done; 1 unexpected error, or Temporal does not respond; 2 bad input; 3 no such payout;
4 refused; 5 a payout did not end as SUCCESS; 6 doctor found problems.

Examples:
  payouts start payout.json --wait
  payouts start payout.json --dry-run
  payouts status ORDER-1 --json
  payouts batch payouts.ndjson --watch
  payouts resolve ORDER-1 --by olga --not-created retry`;

const program = new Command('payouts')
  .description('start, steer and read cross-border payouts')
  .version(VERSION, '--version', 'print the version')
  .addHelpText('after', HELP_TAIL)
  .exitOverride()
  // Options after a command belong to that command or to its subcommand.
  .enablePositionalOptions()
  .configureOutput({ writeErr: (text) => void (wantsJson() || process.stderr.write(text)) });

payoutCommands(program);
decisionCommands(program);
batchCommands(program);
listCommand(program);
reportCommand(program);
statementCommand(program);
accountCommands(program);
eventCommands(program);
applicationCommands(program);
settingsCommand(program);
doctorCommand(program);
for (const command of program.commands) prepare(command);
completionCommand(program);

/** Adds what every command and subcommand has. */
function prepare(command: CommandUnknownOpts): void {
  command.addOption(JSON_OUTPUT).enablePositionalOptions();
  for (const below of command.commands) prepare(below);
}

function wantsJson(): boolean {
  return process.argv.includes('--json');
}

endWithReader();
program.parseAsync().catch((error: unknown) => {
  if (!(error instanceof CommanderError)) return printFailure(error, wantsJson());
  if (error.exitCode === 0) return;
  process.exitCode = EXIT.badInput;
  if (wantsJson()) printFailure(new UsageError(error.message), true);
});
