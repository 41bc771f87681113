/** Defines a verb of the command line, with `--app` and `--json`. */
import { Command } from 'commander';
import { type Answer, UsageError } from './answer.ts';
import { checkedApp, checkedId } from './options.ts';
import type { Session } from './session.ts';

export interface Common {
  app: string;
  json?: true;
}

/** What a verb does after it is connected. */
export type Work = (session: Session) => Promise<Answer>;

export const DECIDED_BY = ['--by <name>', 'who decides'] as const;
export const STARTED_BY = ['--by <name>', 'who starts it; this name cannot approve it'] as const;

export const CREATED_FROM = ['--created-from <time>', 'created at this time or day (UTC) or later'] as const;
export const CREATED_TO = ['--created-to <time>', 'created before this time or day (UTC)'] as const;

export const SENDS = [
  '--sends <count>',
  'the sends that you have seen: does not count after another send',
] as const;

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
    parent
      .command(usage)
      .description(description)
      // Subcommands have the same options and read those after their own name.
      .enablePositionalOptions()
      .option('--app <name>', 'the application', 'default')
      .option('--json', 'print one JSON document')
      .action(async (...given: unknown[]) => {
        const [argument] = given;
        const command = given.at(-1);
        if (!(command instanceof Command)) throw new UsageError('the command line could not be parsed');
        const options = command.opts<Options>();
        checkedApp(options.app);
        const first = typeof argument === 'string' ? argument : '';
        if (usage.endsWith('<id>')) checkedId(first);
        await perform(options.json, await read(first, options));
      });
}

/** Connects and runs the verb. Loads Temporal's client only now: that takes half a second. */
export async function perform(
  json: true | undefined,
  work: Work,
  onConnectionFailure?: (error: unknown) => Answer,
): Promise<void> {
  const { inSession } = await import('./session.ts');
  await inSession(json === true, work, onConnectionFailure);
}
