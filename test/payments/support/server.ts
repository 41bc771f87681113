/** A scripted server on loopback that records every request that it read completely. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface SeenRequest {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Script = (request: SeenRequest, response: ServerResponse) => void;

export interface ScriptedServer {
  origin: string;
  seen: SeenRequest[];
  /** Connections accepted so far. */
  connections: () => number;
  script: Script;
  close: () => Promise<void>;
}

/** Closes when the test that started it ends, unless `keep` is set. */
export async function startServer(script: Script, keep = false): Promise<ScriptedServer> {
  let connections = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, async (incoming, response) => {
    incoming.on('error', () => undefined);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
    } catch {
      return;
    }
    const request = {
      method: incoming.method ?? '',
      url: incoming.url ?? '',
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
    };
    scripted.seen.push(request);
    scripted.script(request, response);
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const scripted: ScriptedServer = {
    origin: `http://127.0.0.1:${portOf(server.address())}`,
    seen: [],
    connections: () => connections,
    script,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  if (!keep) onTestFinished(scripted.close);
  return scripted;
}

/** A loopback port without a listener. */
export async function deadOrigin(): Promise<string> {
  const server = await startServer(() => undefined, true);
  await server.close();
  return server.origin;
}

/** Answers every request alike. */
export function answers(status: number, body: string | Buffer, headers: Record<string, string> = {}): Script {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}
