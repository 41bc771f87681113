/** Waits until an engine can be used, by using it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

export interface Awaited {
  address: string;
  namespace: string;
  /** Names that must be registered. */
  searchAttributes: readonly string[];
  /** Its pages must be served too. */
  uiUrl: string | undefined;
  /** Its process ended: there is nothing to wait for. */
  isGone: () => boolean;
  limitMs: number;
}

/** Whether the frontend serves the namespace with its search attributes within the limit. */
export async function untilItAnswers(engine: Awaited): Promise<boolean> {
  const deadline = Date.now() + engine.limitMs;
  while (!engine.isGone() && Date.now() < deadline) {
    // A gRPC client that is refused once waits for a second before it tries again.
    if ((await isListening(engine.address)) && (await answers(engine))) return !engine.isGone();
    await sleep(20);
  }
  return false;
}

/** Something accepts connections at `host:port`. */
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

async function answers({ address, namespace, searchAttributes, uiUrl }: Awaited): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: '2s' });
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
