/**
 * Spreads TCP connections over the frontends, as a load balancer or the service of a cluster does. It does not end TLS. A
 * frontend that does not accept a connection is passed over.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { loopback } from '../dev-server/ports.ts';

const CONNECT_LIMIT_MS = 1_000;

export class Balancer {
  private readonly server: Server;
  private readonly port: number;
  private readonly targets: () => readonly number[];
  private readonly sockets = new Set<Socket>();
  private turn = 0;

  /** `targets`: the loopback ports of the frontends. */
  constructor(port: number, targets: () => readonly number[]) {
    this.port = port;
    this.targets = targets;
    // A client may send before its frontend is found.
    this.server = createServer({ pauseOnConnect: true }, (client) => void this.forward(client));
  }

  get address(): string {
    return loopback(this.port);
  }

  async start(): Promise<void> {
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  stop(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private async forward(client: Socket): Promise<void> {
    this.watch(client);
    const frontend = await this.connected();
    if (frontend === undefined || client.destroyed) {
      client.destroy();
      frontend?.destroy();
      return;
    }
    this.watch(frontend);
    for (const [one, other] of [
      [client, frontend],
      [frontend, client],
    ] as const) {
      one.pipe(other);
      one.once('close', () => other.destroy());
    }
    client.resume();
  }

  /** The next frontend that accepts a connection. */
  private async connected(): Promise<Socket | undefined> {
    const targets = this.targets();
    this.turn += 1;
    for (let tried = 0; tried < targets.length; tried += 1) {
      const port = targets[(this.turn + tried) % targets.length];
      if (port === undefined) continue;
      const socket = connect(port, '127.0.0.1');
      socket.setTimeout(CONNECT_LIMIT_MS, () => socket.destroy());
      try {
        await once(socket, 'connect');
        socket.setTimeout(0);
        return socket;
      } catch {
        socket.destroy();
      }
    }
    return undefined;
  }

  private watch(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.sockets.delete(socket));
  }
}
