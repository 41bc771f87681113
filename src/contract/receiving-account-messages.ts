/** The messages of the opening of a receiving account. */
import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { ReceivingAccountState } from '../domain/receiving-account.ts';

/** The argument of `resolve`: a person's decision about an account of unknown existence. */
export type OpeningResolution =
  | { by: string; created: true; accountId: string }
  | {
      by: string;
      created: false;
      then: 'end' | 'retry';
      /** `sends` of the state that the person has read. The decision does not count after another send. */
      sends?: number | undefined;
      /** `candidates` of the state that the person has read. The decision does not count if there are others. */
      candidates?: string[] | undefined;
    };

export const openingStateQuery = defineQuery<ReceivingAccountState>('state');
export const resolveOpeningUpdate = defineUpdate<ReceivingAccountState, [OpeningResolution]>('resolve');
