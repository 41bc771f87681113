/** How a verb stands on the command line: with `--app` and `--json`, in a session of its own. */
import { Command } from 'commander';
import { type Answer, UsageError } from './answer.ts';
import { checkedApp } from './options.ts';
import type { Session } from './session.ts';

export interface Common {
  app: string;
  json?: true;
}

/** What a verb does once it is connected. */
export type Work = (session: Session) => Promise<Answer>;

export const BY = ['--by <name>', 'who decides'] as const;
export const STARTER = ['--by <name>', 'who starts it, and so cannot approve it'] as const;

/** Gets a verb's first argument, if it takes one, and its options, and checks both. */
type Read<Options> = (argument: string, options: Options) => Work | Promise<Work>;

/** Adds a verb. */
export type AddVerb = <Options extends Common>(
  usage: string,
  description: string,
  read: Read<Options>,
) => Command;

export function verbsOf(parent: Command): AddVerb {
  return <Options extends Common>(usage: string, description: string, read: Read<Options>) =>
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
        checkedApp(options.app);
        await perform(options.json, await read(typeof argument === 'string' ? argument : '', options));
      });
}

/** Connects, and does it. Temporal's client is loaded here: half a second of work that bad input is not worth. */
export async function perform(
  json: true | undefined,
  work: Work,
  failed?: (error: unknown) => Answer,
): Promise<void> {
  const { inSession } = await import('./session.ts');
  await inSession(json === true, work, failed);
}
