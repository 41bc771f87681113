/** How others talk to the lease of a call budget. */
import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { BudgetState, CallsPerSecondChange } from '../domain/rate-limit-lease.ts';

/** Takes effect with a clean hand-over, about half a second later; answers what counts from then on. */
export const setCallsPerSecondUpdate = defineUpdate<BudgetState, [CallsPerSecondChange]>('setCallsPerSecond');
export const budgetQuery = defineQuery<BudgetState>('state');
