/** Whether the number of this start is surely fresh. */
import { workflowInfo } from '@temporalio/workflow';
import type { PayoutSettings } from '../domain/payout.ts';

/** A start that does not promise a fresh number, or a configuration that believes no promise: ask before sending. */
export function isDoubtful({ createCheck }: Pick<PayoutSettings, 'createCheck'>): boolean {
  return workflowInfo().memo?.['rejectDuplicate'] !== true || createCheck === 'always';
}
