/** A workflow of two runs, each with one activity. */
import { continueAsNew, proxyActivities } from '@temporalio/workflow';

const { look } = proxyActivities<{ look(): Promise<void> }>({ startToCloseTimeout: '1m' });

export async function continued(isSecond = false): Promise<void> {
  await look();
  if (!isSecond) await continueAsNew<typeof continued>(true);
}
