/** Whether a namespace that several clusters or regions hold has failed over. */
import type { Client } from '@temporalio/client';

/** Of a namespace that exists only once. */
export const NEVER_FAILS_OVER = '0';

/** Another value after each failover. */
export async function failoverVersionOf({ workflowService, options }: Client): Promise<string> {
  const { failoverVersion } = await workflowService.describeNamespace({ namespace: options.namespace });
  return String(failoverVersion ?? NEVER_FAILS_OVER);
}
