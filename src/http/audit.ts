/** The audit trail: one line for each request of an operation, including refused ones. */
import { appendFileSync } from 'node:fs';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { Verb } from '../config/callers.ts';
import { batchId } from '../contract/batch.ts';
import { appName, ownId } from '../contract/fields.ts';
import { isJsonObject } from '../payments/exact-json.ts';
import { authenticatedCaller } from './authentication.ts';
import { causesOf, FloodGate } from './log.ts';

/** Ids that are logged: only valid ones, so that no other text gets into the log. */
const IDS = { partnerOrderId: ownId(), batchId, requestId: ownId() };

interface Route {
  method: string;
  path: string;
  /** Absent: the route signs in or out. */
  verb?: Verb;
  /** The query names the application, else the body. */
  hasAppInQuery?: boolean;
  /** Only refused requests leave a line. */
  refusedOnly?: boolean;
}

type OnSend = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => Promise<unknown>;

export class AuditLog {
  private readonly log: FastifyBaseLogger;
  private readonly target: string | undefined;
  private readonly unauthenticated: FloodGate;
  private readonly limited: FloodGate;

  /** `target`: the path of a file, `stderr`, or undefined for the log of the process. */
  constructor(log: FastifyBaseLogger, target: string | undefined) {
    this.log = log;
    this.target = target;
    this.unauthenticated = new FloodGate((counted) => this.write({ event: 'unauthenticated', ...counted }));
    this.limited = new FloodGate((counted) => this.write({ event: 'limited', ...counted }));
  }

  /** The hook that writes the line, before the response is sent. */
  recorder(route: Route): OnSend {
    return async (request, reply, payload) => {
      if (!route.refusedOnly || reply.statusCode >= 400) this.record(route, request, reply.statusCode);
      return payload;
    };
  }

  /** Writes the counts of the current interval. */
  close(): void {
    this.unauthenticated.close();
    this.limited.close();
  }

  /** `ids`: of one of several decisions of a request. */
  record(route: Route, request: FastifyRequest, status: number, ids = idsOf(route, request)): void {
    const name = `${route.method} ${route.path}`;
    const caller = authenticatedCaller(request)?.name ?? null;
    if (caller === null && !this.unauthenticated.admits(`${name} ${status}`)) return;
    if (caller !== null && status === 429 && !this.limited.admits(`${caller} ${name}`)) return;
    // The desk redirects users who have not signed in.
    const isAccepted = status < 400 && caller !== null;
    const verdict = isAccepted ? 'accepted' : status < 500 ? 'refused' : 'failed';
    this.write({
      // `requestId` is the id of a receiving account request.
      event: 'request',
      xRequestId: request.id,
      caller,
      verb: route.verb,
      route: name,
      ...ids,
      status,
      verdict,
    });
  }

  private write(line: object): void {
    if (this.target === undefined) {
      this.log.info(line, 'audit');
      return;
    }
    const text = `${JSON.stringify({ time: new Date().toISOString(), ...line })}\n`;
    try {
      // Opens the file for each line, so that it can be rotated by renaming.
      if (this.target === 'stderr') process.stderr.write(text);
      else appendFileSync(this.target, text, { mode: 0o600 });
    } catch (error) {
      this.log.error({ ...line, causes: causesOf(error) }, 'PAYOUTS_AUDIT_LOG cannot be written');
    }
  }
}

function idsOf(route: Route, { params, query, body }: FastifyRequest): Record<string, string> {
  const named = { ...objectOf(body), ...objectOf(query), ...objectOf(params) };
  const isAppKnown = 'app' in named || route.hasAppInQuery || body !== undefined;
  const app = isAppKnown ? appName.safeParse(named['app'] ?? 'default').data : undefined;
  const ids: Record<string, string> = app === undefined ? {} : { app };
  for (const [name, schema] of Object.entries(IDS)) {
    const { data } = schema.safeParse(named[name]);
    if (data !== undefined) ids[name] = data;
  }
  return ids;
}

function objectOf(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {};
}
