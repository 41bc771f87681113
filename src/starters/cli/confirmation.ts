/** Asks a person before a change in production. */
import { createInterface } from 'node:readline/promises';
import { NotConfirmedError, UsageError } from './answer.ts';
import type { Session } from './session.ts';

/** Every other environment, and none, may be production. */
const HARMLESS: readonly (string | undefined)[] = ['test', 'sandbox'];

/** Throws `UsageError` if there is no terminal to ask on, and `NotConfirmedError` unless the answer is yes. */
export async function confirm(
  { environment, address, namespace }: Pick<Session, 'environment' | 'address' | 'namespace'>,
  change: string,
): Promise<void> {
  if (HARMLESS.includes(environment)) return;
  const where = environment ?? 'an environment that PAYMENTS_ENVIRONMENT does not name';
  const about = `About to ${change} in ${where}, through ${namespace} at ${address}.`;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(`${about} There is no terminal to confirm this on: add --yes`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(`${about}\nContinue? [y/N] `), closed]);
    if (!/^y(es)?$/i.test(answer.trim())) throw new NotConfirmedError('not confirmed; nothing was done');
  } finally {
    terminal.close();
  }
}
