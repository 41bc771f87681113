/** Serves the desk's pages and forms, and reads the fields of forms. */
import type { Client } from '@temporalio/client';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Pausable } from '../client/leases.ts';
import type { ApiConfig } from '../config/api-config.ts';
import type { Caller, Verb } from '../config/callers.ts';
import type { AttentionOf, WorkflowAttentionCode } from '../contract/attention-codes.ts';
import { isScoped } from '../domain/permissions.ts';
import type { AuditLog } from '../http/audit.ts';
import type { ReloadedCallers } from '../http/authentication.ts';
import type { ToProblem } from '../http/problems.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { applicationsWithin, requireVerb } from '../service/permissions.ts';
import { Problem } from '../service/problem.ts';
import { valid } from '../service/requests.ts';
import type { Service } from '../service/service.ts';
import type { Counts } from './counts.ts';
import { admittedVisit, type Identity, requireOwnOrigin, type Visit } from './identity.ts';
import { type Notice, type Page, sendPage } from './layout.ts';

/** A workflow that cannot continue. */
export interface Finding {
  workflowId: string;
  reason: AttentionOf<WorkflowAttentionCode>;
}

export interface DeskOptions {
  client: Client;
  service: Service;
  callers: ReloadedCallers;
  config: ApiConfig;
  audit: AuditLog;
  runtime: Runtime;
  toProblem: ToProblem;
}

export interface Desk extends DeskOptions {
  identity: Identity;
  /** Workflows that cannot continue, as of some seconds ago. */
  findings: () => Promise<Finding[]>;
  /** Which applications are paused, as of some seconds ago. */
  pauses: () => Promise<Pausable[]>;
  /** What waits in the inbox of the caller, as of some seconds ago. */
  counts: (caller: Caller) => Promise<Counts | undefined>;
}

/** Each payout of a list costs three calls to Temporal and a query to a worker. */
export const PAYOUTS_PER_PAGE = 20;

type Handler<Input, Output> = (visit: Visit, input: Input, reply: FastifyReply) => Promise<Output>;

/** A page that requires a session and the permission `read`. `query` is not yet validated. */
export function getPage(
  scope: FastifyInstance,
  desk: Desk,
  path: string,
  handler: Handler<unknown, Page | FastifyReply>,
): void {
  scope.get(path, {
    onRequest: async (request, reply) => requireVerb(desk.identity.admit(request, reply).caller, 'read'),
    onSend: desk.audit.recorder({ method: 'GET', path: `/desk${path}`, verb: 'read' }),
    handler: async (request, reply) => {
      const visit = await pageVisit(desk, request);
      const page = await handler(visit, request.query, reply);
      // A reply that was sent resolves to undefined, because Fastify's replies are thenable.
      return page && 'content' in page ? sendPage(reply, { ...page, visit }) : reply;
    },
  });
}

/** Handles a form of somebody who has signed in. `bodyLimit`: in bytes. */
export function postForm(
  scope: FastifyInstance,
  desk: Desk,
  { path, verb, bodyLimit }: { path: string; verb?: Verb; bodyLimit?: number },
  handler: Handler<Fields, FastifyReply>,
): void {
  scope.post<{ Body: Fields }>(path, {
    ...(bodyLimit !== undefined && { bodyLimit }),
    ...formHooks(scope, desk, path, verb),
    handler: (request, reply) => handler(admittedVisit(request), request.body, reply),
  });
}

export function formHooks(scope: FastifyInstance, desk: Desk, path: string, verb: Verb | undefined) {
  return {
    // Before the body is read.
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      const { caller } = desk.identity.admit(request, reply);
      requireOwnOrigin(request);
      if (verb) requireVerb(caller, verb);
    },
    preHandler: scope.csrfProtection,
    onSend: desk.audit.recorder({ method: 'POST', path: `/desk${path}`, ...(verb && { verb }) }),
  };
}

/** The visit of a page, which shows pauses and counts. Without them if Temporal does not respond. */
export async function pageVisit({ pauses, counts }: Desk, request: FastifyRequest): Promise<Visit> {
  const visit = admittedVisit(request);
  const { caller } = visit;
  const [all, counted] = await Promise.all([ifKnown(pauses()), ifKnown(counts(caller))]);
  const visible = all?.filter(
    ({ app }) => caller.applications === 'any' || caller.applications.includes(app),
  );
  return { ...visit, pauses: visible, counts: counted };
}

/** The applications of the caller; of a caller with all of them, those that workers serve. */
export function appsOf({ caller, pauses = [] }: Visit): string[] {
  const apps = applicationsWithin(caller) ?? ['default', ...pauses.map(({ app }) => app)];
  return [...new Set(apps)];
}

/** Undefined if Temporal or a worker does not respond, or there is nothing to read. */
export function ifKnown<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch(() => undefined);
}

/** Reads the ids in the fields or the query. Throws a 400. */
export function idIn<S extends z.ZodObject>(schema: S, fields: unknown): z.output<S> {
  return valid(schema, filledIn(fields, ...Object.keys(schema.shape)));
}

export type Fields = Readonly<Record<string, string>>;

const MAX_FORM_BYTES = 16 * 1024;

export function acceptForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const options = { parseAs: 'string', bodyLimit: MAX_FORM_BYTES } as const;
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    options,
    async (_request: unknown, body: unknown) => {
      const fields = [...new URLSearchParams(String(body))];
      const byName = Object.fromEntries(fields);
      // A program between the browser and this server may read a repeated field differently.
      if (Object.keys(byName).length < fields.length)
        throw new Problem('malformed-request', 'a field of the form is repeated');
      return byName;
    },
  );
}

/** The fields that a form or a query has filled in, of those that it may have. */
export function filledIn<Name extends string>(
  fields: unknown,
  ...names: readonly Name[]
): Partial<Record<Name, string>> {
  const filled: Partial<Record<Name, string>> = {};
  const known = new Map<string, unknown>(Object.entries(fields ?? {}));
  for (const name of names) {
    const value = known.get(name);
    if (typeof value !== 'string' || value.trim() === '') continue;
    // Browsers send line breaks as CR LF. Ids and notes of the API have none.
    const lines = value.split(/[\r\n]/).map((line) => line.trim());
    filled[name] = lines.filter((line) => line !== '').join(' ');
  }
  return filled;
}

const DONE = {
  approve: 'Approved',
  refuse: 'Refused',
  cancel: 'Canceled',
  poll: 'Queried the provider about',
  resolve: 'Resolved',
  track: 'Tracking the order of',
  close: 'Closed without paying:',
  'send-again': 'Sending the payment again:',
  acknowledge: 'Acknowledged the flags of',
  pause: 'Paused',
  resume: 'Resumed',
  test: 'Sent a test to',
  'test-failed': 'The test failed for',
  resending: 'Sending events again to',
  enable: 'Enabled',
  resend: 'Sent again',
} as const;
export type Done = keyof typeof DONE;

/** Leads the browser to a page that shows the notice. It is in the session, so that no link can make one up. */
export function redirectWith(
  reply: FastifyReply,
  path: string,
  { done, ...about }: Omit<Notice, 'done'> & { done: Done },
): FastifyReply {
  reply.request.session.set('notice', { done: DONE[done], ...about });
  return reply.redirect(path, 303);
}

/**
 * Returns the result of `read`. Undefined if the caller may not see it; `unread` if it cannot be read now, unless the caller is limited
 * to clients, payers or users: then nobody knows whether the caller may see it.
 */
export async function readable<T, U>(caller: Caller, read: () => Promise<T>, unread: U) {
  try {
    return await read();
  } catch (error) {
    return error instanceof Problem || isScoped(caller) ? undefined : unread;
  }
}
