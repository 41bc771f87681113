/**
 * Spreads HTTP/2 requests over the workers, as the load balancer before a Restate service does. A worker that does not
 * respond is passed over.
 */
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { loopback } from '../../scripts/dev-server/ports.ts';

export class Balancer {
  requests = 0;
  private readonly port: number;
  private readonly server = createServer();
  private readonly sessions = new Map<number, ClientHttp2Session>();
  private ports: readonly number[] = [];

  constructor(port: number) {
    this.port = port;
    this.server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
      this.forward(stream, headers),
    );
  }

  async start(ports: readonly number[]): Promise<void> {
    this.ports = ports;
    for (const port of ports) await once(this.session(port), 'connect');
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  stop(): void {
    this.server.close();
    for (const session of this.sessions.values()) session.destroy();
  }

  private forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    this.requests += 1;
    stream.on('error', () => stream.destroy());
    const session = this.next();
    if (session === undefined) {
      stream.respond({ ':status': 503 });
      stream.end();
      return;
    }
    const other = session.request(headers);
    other.on('response', (answer) => {
      if (!stream.destroyed && !stream.headersSent) stream.respond(answer);
    });
    other.on('error', () => stream.destroy());
    other.on('close', () => {
      if (!stream.writableFinished) stream.destroy();
    });
    stream.on('close', () => other.destroy());
    stream.pipe(other);
    other.pipe(stream);
  }

  private next(): ClientHttp2Session | undefined {
    for (let tried = 0; tried < this.ports.length; tried += 1) {
      const port = this.ports[(this.requests + tried) % this.ports.length];
      const session = port === undefined ? undefined : this.session(port);
      if (session && !session.connecting) return session;
    }
    return undefined;
  }

  private session(port: number): ClientHttp2Session {
    const known = this.sessions.get(port);
    if (known && !known.closed && !known.destroyed) return known;
    const session = connect(`http://${loopback(port)}`);
    session.on('error', () => session.destroy());
    this.sessions.set(port, session);
    return session;
  }
}
