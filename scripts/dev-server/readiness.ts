/** Waits until a Temporal server can be used, by using it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type ConnectionOptions } from '@temporalio/client';

export interface StartingServer {
  address: string;
  /** Absent: without TLS. */
  tls?: ConnectionOptions['tls'];
  namespace: string;
  /** Search attributes that must be registered. */
  searchAttributes: readonly string[];
  /** If given, the UI must respond too. */
  uiUrl: string | undefined;
  /** The process has ended, so there is nothing to wait for. */
  isGone: () => boolean;
  limitMs: number;
}

/** Returns whether the frontend serves the namespace with its search attributes within the limit. */
export async function untilReady(server: StartingServer): Promise<boolean> {
  const deadline = Date.now() + server.limitMs;
  while (!server.isGone() && Date.now() < deadline) {
    // Check the port first: a gRPC client whose connection is refused waits for a second before it retries.
    if ((await isListening(server.address)) && (await isReady(server))) return !server.isGone();
    await sleep(20);
  }
  return false;
}

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

async function isReady({
  address,
  tls,
  namespace,
  searchAttributes,
  uiUrl,
}: StartingServer): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, tls: tls ?? false, connectTimeout: '2s' });
    await connection.workflowService.describeNamespace({ namespace });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    if (!searchAttributes.every((name) => name in (customAttributes ?? {}))) return false;
    return uiUrl === undefined || (await fetch(uiUrl, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}
