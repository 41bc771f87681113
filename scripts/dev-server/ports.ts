/** Free loopback ports. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the ephemeral ports, which outgoing connections may take within milliseconds. */
const MIN_PORT = 10_000;
const MAX_PORT = 32_000;
const MAX_ATTEMPTS = 100;

/**
 * Returns different ports that are free now. Nothing reserves them: a caller that fails to bind one must ask
 * again. Each `preferred` port has its place if it is free.
 */
export async function freePorts(count: number, preferred: readonly number[] = []): Promise<number[]> {
  const wanted = new Map(preferred.entries());
  const held = new Map<number, Server>();
  try {
    // Hold all ports at once, so that none is chosen twice.
    for (let attempts = 0; held.size < count; attempts += 1) {
      if (attempts === MAX_ATTEMPTS) throw new Error('no port is free');
      const port = wanted.get(held.size) ?? randomInt(MIN_PORT, MAX_PORT);
      wanted.delete(held.size);
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
