/** What only the CLI reads from its environment, beyond what every client reads. */
import { z } from 'zod';
import { type Environment, withoutEmpty } from './environment.ts';
import { followUpShape } from './follow-up.ts';

const anyText = (description: string) => z.string().optional().meta({ description, valueType: 'any text' });

export const cliShape = {
  PAYOUTS_FOLLOW_UP: followUpShape.PAYOUTS_FOLLOW_UP.describe(
    'The same as for the workers: `doctor` compares it with the retention of the namespace.',
  ),
  NO_COLOR: anyText('Turns colors off.'),
  FORCE_COLOR: anyText('Turns colors on where the output is not a terminal, unless `NO_COLOR` is set.'),
  TERM: z.string().optional().describe('`dumb` turns colors off.'),
};

/** Milliseconds after the end of a payout. Undefined where no worker would start with this list. */
export function followUpsMs(environment: Environment): readonly number[] | undefined {
  const read = cliShape.PAYOUTS_FOLLOW_UP.safeParse(withoutEmpty(environment)['PAYOUTS_FOLLOW_UP']);
  return read.success ? read.data : undefined;
}
