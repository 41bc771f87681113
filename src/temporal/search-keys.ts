/** The search attributes that starters set or read. Workflows set the others. */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

export const APP = defineSearchAttributeKey('PayoutApp', SearchAttributeType.KEYWORD);
export const PHASE = defineSearchAttributeKey('PayoutPhase', SearchAttributeType.KEYWORD);
/** Set by the workflow; absent if the attention flag has never been set. */
export const NEEDS_ATTENTION = defineSearchAttributeKey('PayoutNeedsAttention', SearchAttributeType.BOOL);
