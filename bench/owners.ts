/** Which process owns an application's rate-limit lease. */
import type { ChildProcess } from 'node:child_process';
import { leaseWorkflowId } from '../src/contract/ids.ts';
import type { BenchStage } from './stage.ts';

/** Undefined while no process owns the lease, for example during a handover. */
export async function ownerOf(
  { client, workers }: BenchStage,
  app: string,
): Promise<ChildProcess | undefined> {
  const { raw } = await client.workflow.getHandle(leaseWorkflowId('test', `app-${app}`)).describe();
  const pid = Number.parseInt(raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '', 10);
  return workers.find((worker) => worker.pid === pid);
}
