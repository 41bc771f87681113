/** What a person found out about something in review: `--created ID`, or `--not-created end|retry`. */
import { UsageError } from './answer.ts';

type Finding = { created: true; id: string } | { created: false; then: 'end' | 'retry' };

export function whatWasFound(
  created: string | undefined,
  notCreated: string | undefined,
  idName: string,
): Finding {
  if ((created === undefined) === (notCreated === undefined))
    throw new UsageError(`say either --created ${idName} or --not-created end|retry`);
  if (created !== undefined) return { created: true, id: created };
  if (notCreated === 'end' || notCreated === 'retry') return { created: false, then: notCreated };
  throw new UsageError('--not-created must be end or retry');
}
