/** Defines a verb of the command line, with `--app`, `--json` and `--profile`. */
import { Command } from 'commander';
import { type Answer, UsageError } from './answer.ts';
import { checkedApp, checkedId } from './options.ts';
import type { OnConnectionFailure, Session } from './session.ts';

export interface Common {
  app: string;
}

/** With `--yes`: a change in production needs no confirmation. */
export interface Confirmable {
  yes?: true;
}

/** What a verb does after it is connected. */
export type Work = (session: Session) => Promise<Answer>;

export const DECIDED_BY = ['--by <name>', 'who decides'] as const;
export const STARTED_BY = ['--by <name>', 'who starts it; this name cannot approve it'] as const;

export const SENDS = [
  '--sends <count>',
  'the sends that you have seen: does not count after another send',
] as const;

export const YES = ['--yes', 'do not ask before a change in production'] as const;
export const PROFILE = ['--profile <name>', 'the connection, from the file of profiles'] as const;
const JSON_OUTPUT = ['--json', 'print one JSON document'] as const;

/** For an option that is given once for each value. */
export const repeatable = (value: string, others: string[] = []) => [...others, value];

export type AddVerb = ReturnType<typeof verbsOf>;

/**
 * `read` validates the options and the first argument, which is empty if the verb has none. A first argument `<id>` is a
 * `partnerOrderId` or a `requestId`.
 */
export function verbsOf(parent: Command) {
  return <Options extends Common>(
    usage: string,
    description: string,
    read: (argument: string, options: Options) => Work | Promise<Work>,
  ) =>
    withOutput(parent.command(usage))
      .description(description)
      // Subcommands have the same options and read those after their own name.
      .enablePositionalOptions()
      .option('--app <name>', 'the application', 'default')
      .action(async (...given: unknown[]) => {
        const [argument] = given;
        const command = commandOf(given);
        const options = command.opts<Options>();
        checkedApp(options.app);
        const first = typeof argument === 'string' ? argument : '';
        if (usage.endsWith('<id>')) checkedId(first);
        await perform(command, await read(first, options));
      });
}

/** Adds the options that every verb has. */
export function withOutput(command: Command): Command {
  return command.option(...JSON_OUTPUT).option(...PROFILE);
}

/** Adds the options that every list has. */
export function withPages(command: Command): Command {
  return command
    .option('--created-from <time>', 'created at this time or day (UTC) or later')
    .option('--created-to <time>', 'created before this time or day (UTC)')
    .option('--limit <count>', 'the maximum number of rows', '50')
    .option('--cursor [cursor]', 'the next page after this cursor; without a cursor, the first page');
}

/** The last argument of an action. */
function commandOf(given: readonly unknown[]): Command {
  const command = given.at(-1);
  if (command instanceof Command) return command;
  throw new UsageError('the command line could not be parsed');
}

/** Asks before `work` changes something in production. `change` completes `About to …`. */
export function confirmed({ yes }: Confirmable, change: string, work: Work): Work {
  return async (session) => {
    if (!yes) await (await import('./confirmation.ts')).confirm(session, change);
    return work(session);
  };
}

/** Connects and runs the verb. Loads Temporal's client only now: that takes half a second. */
export async function perform(
  command: Command,
  work: Work,
  onConnectionFailure?: OnConnectionFailure,
): Promise<void> {
  const { json } = command.opts<{ json?: true }>();
  const { inSession } = await import('./session.ts');
  await inSession({ json: json === true, profile: profileOf(command) }, work, onConnectionFailure);
}

/** `--profile` is also accepted before the verb. */
function profileOf(command: Command): string | undefined {
  const { profile } = command.opts<{ profile?: string }>();
  return profile ?? (command.parent ? profileOf(command.parent) : undefined);
}
