/** A small receiver of notifications that records what arrives, and returns configured statuses. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Arrived {
  headers: IncomingHttpHeaders;
  body: string;
}

export class Receiver {
  readonly arrived: Arrived[] = [];
  readonly url: string;
  /** Statuses for the next answers, then 200. */
  readonly answers: number[] = [];
  readonly #server: Server;

  constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async start(): Promise<Receiver> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const receiver = new Receiver(server, `http://127.0.0.1:${portOf(server.address())}/hook`);
    server.on('request', async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      receiver.arrived.push({ headers: request.headers, body });
      response.writeHead(receiver.answers.shift() ?? 200).end();
    });
    return receiver;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (typeof address !== 'object' || address === null) throw new Error('the receiver has no port');
  return address.port;
}
