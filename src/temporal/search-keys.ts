/** The search attributes that are written as a workflow is started; workflows write the rest. */
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

export const APP = defineSearchAttributeKey('PayoutApp', SearchAttributeType.KEYWORD);
export const PHASE = defineSearchAttributeKey('PayoutPhase', SearchAttributeType.KEYWORD);
