/** The least that four calls could cost on Temporal: no input worth the name, no decisions, no waiting. */
import { proxyActivities } from '@temporalio/workflow';
import type * as activities from './activities.ts';

const { nothing } = proxyActivities<typeof activities>({ startToCloseTimeout: '10s' });

export async function bareFour(): Promise<void> {
  await nothing();
  await nothing();
  await nothing();
  await nothing();
}
