/** Creates the namespace that the project uses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type ConnectionOptions } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { registerSearchAttributes } from '../../src/temporal/namespace.ts';

export const READY_LIMIT_MS = 120_000;
const RETENTION_MS = 45 * 24 * 3_600_000;

/** Like deploy/temporal/namespace.sh: creates the namespace and missing search attributes. */
export async function untilNamespace(
  connecting: ConnectionOptions,
  namespace: string,
  isGone: () => boolean,
): Promise<boolean> {
  for (const deadline = Date.now() + READY_LIMIT_MS; !isGone() && Date.now() < deadline; await sleep(100)) {
    let connection: Connection | undefined;
    try {
      connection = await Connection.connect({ ...connecting, connectTimeout: '1s' });
      const { workflowService } = connection;
      const known = await workflowService.describeNamespace({ namespace }).catch(() => undefined);
      if (known === undefined)
        await workflowService.registerNamespace({
          namespace,
          workflowExecutionRetentionPeriod: msToTs(RETENTION_MS),
        });
      await registerSearchAttributes(connection, namespace);
      return true;
    } catch {
      // The server is still starting.
    } finally {
      await connection?.close();
    }
  }
  return false;
}
