/** Connections of one client that sends a request without its end. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Nearly complete: the headers and the body of each stay in memory. */
export const STALLED = [
  'POST /v1/notifications/default HTTP/1.1',
  'Host: x',
  'Content-Type: application/json',
  `X-Pad: ${'p'.repeat(15_000)}`,
  'Content-Length: 65536',
  '',
  ' '.repeat(65_000),
].join('\r\n');

/** Resolves when all have tried to connect, with those that are open: a connection that closes leaves the set. */
export async function openMany(
  to: { host: string; port: number; localAddress?: string },
  count: number,
  sent: string,
): Promise<Set<Socket>> {
  const open = new Set<Socket>();
  for (let left = count; left > 0; left -= 1) {
    const socket = connect(to);
    open.add(socket);
    socket
      .resume()
      .on('error', () => undefined)
      .once('close', () => open.delete(socket));
    socket.once('connect', () => socket.write(sent));
    if (left % 100 === 0) await once(socket, 'connect').catch(() => undefined);
  }
  return open;
}
