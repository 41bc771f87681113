/** The messages of a caller's daily limits. */
import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { AllowanceState, ReserveAnswer, ReserveRequest } from '../domain/daily-limits.ts';

/** Answers each reservation. If all are refused, it fails as `DailyLimitExceeded` and leaves no history events. */
export const reserveUpdate = defineUpdate<ReserveAnswer, [ReserveRequest]>('reserve');
export const allowanceQuery = defineQuery<AllowanceState>('state');
