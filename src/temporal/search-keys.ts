/** The search attributes that are written as a workflow is started, or read of one; workflows write the rest. */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

export const APP = defineSearchAttributeKey('PayoutApp', SearchAttributeType.KEYWORD);
export const PHASE = defineSearchAttributeKey('PayoutPhase', SearchAttributeType.KEYWORD);
/** Written by the workflow, absent as long as nobody was needed. */
export const NEEDS_ATTENTION = defineSearchAttributeKey('PayoutNeedsAttention', SearchAttributeType.BOOL);
