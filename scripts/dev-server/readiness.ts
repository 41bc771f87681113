/** Finds out whether a Temporal server can be used, by using it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { Connection, type ConnectionOptions } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { registerSearchAttributes, SEARCH_ATTRIBUTES } from '../../src/temporal/namespace.ts';

const RETENTION_MS = 45 * 24 * 3_600_000;

/** Whether anything accepts connections at `host:port`. */
export async function isListening(address: string): Promise<boolean> {
  const [host = '', port = ''] = address.split(':');
  const socket = connect(Number(port), host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Whether the server has the namespace with the project's search attributes. */
export function isUsable(address: string, namespace: string): Promise<boolean> {
  return succeeds({ address }, async ({ workflowService, operatorService }) => {
    await workflowService.describeNamespace({ namespace });
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
    return Object.keys(SEARCH_ATTRIBUTES).every((name) => name in (customAttributes ?? {}));
  });
}

/** Like deploy/temporal/namespace.sh: creates the namespace and missing search attributes. False while the server starts. */
export function createsNamespace(options: ConnectionOptions, namespace: string): Promise<boolean> {
  return succeeds(options, async (connection) => {
    const { workflowService } = connection;
    const known = await workflowService.describeNamespace({ namespace }).catch(() => undefined);
    const workflowExecutionRetentionPeriod = msToTs(RETENTION_MS);
    if (known === undefined)
      await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    await registerSearchAttributes(connection, namespace);
    return true;
  });
}

async function succeeds(
  options: ConnectionOptions,
  use: (connection: Connection) => Promise<boolean>,
): Promise<boolean> {
  // Check the port first: a gRPC client whose connection is refused waits for a second before it retries.
  if (!(await isListening(options.address ?? ''))) return false;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ ...options, connectTimeout: '2s' });
    return await use(connection);
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}
