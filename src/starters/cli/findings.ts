/** What a person found out about something in review: `--created ID`, or `--not-created end|retry`. */
import type { Resolution } from '../../contract/payout-messages.ts';
import type { OpeningResolution } from '../../contract/receiving-account-messages.ts';
import { UsageError } from './answer.ts';

type Finding = { created: true; id: string } | { created: false; then: 'end' | 'retry' };

export interface Found {
  by: string;
  created?: string | undefined;
  notCreated?: string | undefined;
}

export function payoutResolution({ by, created, notCreated }: Found): Resolution {
  const found = whatWasFound(created, notCreated, 'ORDER_ID');
  return found.created ? { by, created: true, orderId: found.id } : { by, ...found };
}

export function openingResolution({ by, created, notCreated }: Found): OpeningResolution {
  const found = whatWasFound(created, notCreated, 'ACCOUNT_ID');
  return found.created ? { by, created: true, accountId: found.id } : { by, ...found };
}

/** Exactly one of the two ways in which a review can end. */
function whatWasFound(created: string | undefined, notCreated: string | undefined, idName: string): Finding {
  if ((created === undefined) === (notCreated === undefined))
    throw new UsageError(`say either --created ${idName} or --not-created end|retry`);
  if (created !== undefined) return { created: true, id: created };
  if (notCreated === 'end' || notCreated === 'retry') return { created: false, then: notCreated };
  throw new UsageError('--not-created must be end or retry');
}
