/** Free loopback ports. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * That many different ports that were free just now. Nothing keeps them free: whoever binds one must be
 * ready to lose it and ask again.
 */
export async function freePorts(count: number): Promise<number[]> {
  // All are held at once, so that the system cannot hand out one twice.
  const servers = Array.from({ length: count }, () => createServer());
  try {
    return await Promise.all(
      servers.map(async (server) => {
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        const address = server.address();
        if (address === null || typeof address === 'string') throw new Error('no port was given');
        return address.port;
      }),
    );
  } finally {
    for (const server of servers) server.close();
  }
}

export function loopback(port: number | undefined): string {
  if (port === undefined) throw new Error('no port was chosen yet');
  return `127.0.0.1:${port}`;
}
