/** A TCP connection that can be cut as a network does it: nothing is closed, nothing comes through. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Cuttable {
  address: string;
  cut(): void;
  mend(): void;
  close(): void;
}

export async function cuttable(target: string): Promise<Cuttable> {
  const [host, port] = target.split(':');
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    if (isCut) socket.pause();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const forward = (from: Socket, to: Socket) => {
    from.on('data', (chunk) => to.write(chunk));
    from.on('close', () => to.destroy());
    keep(from);
  };
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    forward(near, far);
    forward(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${address.port}`,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.pause();
    },
    mend() {
      isCut = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
