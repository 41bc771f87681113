/** Free loopback ports. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the ports that systems give to outgoing connections: one of those may be taken again within milliseconds. */
const LOWEST = 10_000;
const HIGHEST = 32_000;
const MOST_ATTEMPTS = 100;

/**
 * That many different ports that were free just now. Nothing keeps them free: whoever binds one must be
 * ready to lose it and ask again.
 */
export async function freePorts(count: number): Promise<number[]> {
  const held = new Map<number, Server>();
  try {
    // All are held at once, so that none is chosen twice.
    for (let attempts = 0; held.size < count; attempts += 1) {
      if (attempts === MOST_ATTEMPTS) throw new Error('no port is free');
      const port = randomInt(LOWEST, HIGHEST);
      const server = await listening(port);
      if (server) held.set(port, server);
    }
    return [...held.keys()];
  } finally {
    for (const server of held.values()) server.close();
  }
}

/** Undefined: the port is in use. */
async function listening(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}

export function loopback(port: number | undefined): string {
  if (port === undefined) throw new Error('no port was chosen yet');
  return `127.0.0.1:${port}`;
}
