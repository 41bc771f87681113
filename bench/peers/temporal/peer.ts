/** Plain Temporal: the server limits the queue of provider calls, over all workers. */
import { activityInfo } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { Ended, Peer } from '../peer.ts';
import * as provider from '../provider.ts';
import { settings } from '../settings.ts';
import { type Activities, notified, PROVIDER_QUEUE, payout } from './workflow.ts';

const QUEUE = 'peer-payouts';

const activities: Activities = {
  quote: provider.quote,
  create: (request, lock) =>
    activityInfo().attempt > 1 ? provider.createOnce(request, lock) : provider.create(request, lock),
  order: provider.order,
  detail: provider.detail,
};

export const temporal: Peer = {
  async work() {
    const connection = await NativeConnection.connect({ address: settings.SERVER });
    const workflowsPath = new URL('./workflow.ts', import.meta.url).pathname;
    const workers = [
      await Worker.create({ connection, taskQueue: QUEUE, workflowsPath }),
      await Worker.create({
        connection,
        taskQueue: PROVIDER_QUEUE,
        activities: { ...activities },
        maxTaskQueueActivitiesPerSecond: settings.CALLS_PER_SECOND,
      }),
    ];
    for (const worker of workers) void worker.run();
  },
  async front() {
    const client = new Client({ connection: await Connection.connect({ address: settings.SERVER }) });
    return {
      start: async (request) => {
        await client.workflow.start(payout, {
          taskQueue: QUEUE,
          workflowId: request.id,
          args: [request, settings.POLL_MS],
        });
      },
      notify: (id) => client.workflow.getHandle(id).signal(notified),
      ended: () => endedOf(client),
    };
  },
};

/** Results are kept: a closed workflow has one forever. */
const known = new Map<string, Ended>();

async function endedOf(client: Client): Promise<Ended[]> {
  const query = "WorkflowType = 'payout' AND ExecutionStatus != 'Running'";
  for await (const { workflowId, status, closeTime } of client.workflow.list({ query, pageSize: 1_000 })) {
    if (known.has(workflowId)) continue;
    const outcome = status.name === 'COMPLETED' ? await client.workflow.result(workflowId) : 'ERROR';
    known.set(workflowId, { id: workflowId, outcome: String(outcome), atMs: closeTime?.getTime() ?? 0 });
  }
  return [...known.values()];
}
