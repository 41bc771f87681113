/** Free loopback ports for Temporal's processes. */
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The server stores its ports as small integers, for which the ports that the system picks are too high. */
export async function lowPorts(count: number): Promise<number[]> {
  const free: number[] = [];
  for (let port = 20_000 + Math.floor(Math.random() * 8_000); free.length < count; port += 1)
    if (await isFree(port)) free.push(port);
  return free;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.listen(port, '127.0.0.1');
  const answer = await free;
  server.close();
  return answer;
}
