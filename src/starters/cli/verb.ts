/** How a verb stands on the command line: with `--app` and `--json`, in a session of its own. */
import { Command } from 'commander';
import { type Answer, UsageError } from './answer.ts';
import { checkedApp } from './list-verbs.ts';
import { inSession, type Session } from './session.ts';

export interface Common {
  app: string;
  json?: true;
}

export const BY = ['--by <name>', 'who decides'] as const;
export const STARTER = ['--by <name>', 'who starts it, and so cannot approve it'] as const;

/** Adds a verb; its first argument, if it takes one, and its options go to `run`. */
export type AddVerb = <Options extends Common>(
  usage: string,
  description: string,
  run: (session: Session, argument: string, options: Options) => Promise<Answer>,
) => Command;

export function verbsOf(parent: Command): AddVerb {
  return <Options extends Common>(
    usage: string,
    description: string,
    run: (session: Session, argument: string, options: Options) => Promise<Answer>,
  ) =>
    parent
      .command(usage)
      .description(description)
      // Verbs below this one have the same options, and read what stands after their own name.
      .enablePositionalOptions()
      .option('--app <name>', 'the application that pays', 'default')
      .option('--json', 'print one JSON document')
      .action(async (...given: unknown[]) => {
        const [argument] = given;
        const command = given.at(-1);
        if (!(command instanceof Command)) throw new UsageError('the command line could not be read');
        const options = command.opts<Options>();
        await inSession(options.json === true, async (session) => {
          checkedApp(options.app);
          return run(session, typeof argument === 'string' ? argument : '', options);
        });
      });
}
