/** What the pages of the desk share: how pages and forms are served, the fields of forms, and notices. */
import type { Client } from '@temporalio/client';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Pausable } from '../client/pauses.ts';
import type { Caller, Verb } from '../config/callers.ts';
import type { AuditLog } from '../http/audit.ts';
import type { Clock } from '../runtime/runtime.ts';
import { requireVerb } from '../service/permissions.ts';
import { Problem } from '../service/problem.ts';
import type { Service } from '../service/service.ts';
import type { Acting } from './acting.ts';
import type { Finding } from './attention.ts';
import { type Html, html, payoutLink } from './html.ts';
import { admittedVisit, type Identity, requireOwnOrigin, type Visit } from './identity.ts';

export interface Desk {
  client: Client;
  clients: Service;
  acting: Acting;
  identity: Identity;
  audit: AuditLog;
  clock: Clock;
  /** Workflows that cannot continue, as of some seconds ago. */
  findings: () => Promise<Finding[]>;
  /** Which applications are paused, as of some seconds ago. */
  pauses: () => Promise<Pausable[]>;
  /** `PAYOUTS_DESK_TEMPORAL_UI`. */
  temporalUi: string | undefined;
}

/** Of a list: each payout costs three calls to Temporal and a query to a worker. */
export const PAYOUTS_PER_PAGE = 20;

/** Undefined: every application. */
export function applicationsWithin({ applications }: Caller): string[] | undefined {
  return applications === 'any' ? undefined : [...applications];
}

type Handler<T> = (visit: Visit, request: FastifyRequest, reply: FastifyReply, input: T) => Promise<unknown>;

/** A page for people who have signed in, with a key that has the verb `read`. `query` is not yet validated. */
export function getPage(scope: FastifyInstance, desk: Desk, path: string, handler: Handler<unknown>): void {
  scope.get(path, {
    exposeHeadRoute: false,
    onRequest: async (request, reply) => requireVerb(desk.identity.admit(request, reply).caller, 'read'),
    onSend: desk.audit.recorder({ method: 'GET', path: `/desk${path}`, verb: 'read' }),
    handler: async (request, reply) => {
      const visit = admittedVisit(request);
      const pauses = await visiblePauses(desk, visit.caller);
      return handler({ ...visit, pauses }, request, reply, request.query);
    },
  });
}

/** What a form of a signed-in person does. */
export function postForm(
  scope: FastifyInstance,
  desk: Desk,
  { path, verb }: { path: string; verb?: Verb },
  handler: Handler<Fields>,
): void {
  scope.post<{ Body: Fields }>(path, {
    // Before the body is read.
    onRequest: async (request, reply) => {
      const { caller } = desk.identity.admit(request, reply);
      requireOwnOrigin(request);
      if (verb) requireVerb(caller, verb);
    },
    onSend: desk.audit.recorder({ method: 'POST', path: `/desk${path}`, ...(verb && { verb }) }),
    handler: (request, reply) => {
      const fields = request.body ?? {};
      desk.identity.requireOwnForm(request, fields['formToken']);
      return handler(admittedVisit(request), request, reply, fields);
    },
  });
}

/** Undefined if Temporal does not answer: the pages are shown all the same. */
async function visiblePauses(
  { pauses }: Pick<Desk, 'pauses'>,
  { applications }: Caller,
): Promise<Pausable[] | undefined> {
  try {
    return (await pauses()).filter(({ app }) => applications === 'any' || applications.includes(app));
  } catch {
    return undefined;
  }
}

/** The fields of a form by name. */
export type Fields = Readonly<Record<string, string>>;

const MAX_FORM_BYTES = 16 * 1024;

export function acceptForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    async (_request: unknown, body: unknown) => fieldsOf(new URLSearchParams(String(body))),
  );
}

/** Throws a 400 for a repeated field, which a program between us may read differently. */
function fieldsOf(form: URLSearchParams): Fields {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of form) {
    if (name in fields) throw new Problem('ambiguous-request', 'a field of the form is repeated');
    fields[name] = value;
  }
  return { ...fields };
}

/** The fields that a form or a query has filled in, of those that it may have. */
export function filledIn<Name extends string>(
  fields: unknown,
  ...names: readonly Name[]
): Partial<Record<Name, string>> {
  const filled: Partial<Record<Name, string>> = {};
  if (typeof fields !== 'object' || fields === null) return filled;
  const known = new Map<string, unknown>(Object.entries(fields));
  for (const name of names) {
    const value = known.get(name);
    if (typeof value !== 'string' || value.trim() === '') continue;
    // Browsers send line breaks as CR LF. Ids and notes of the API have none.
    filled[name] = value.trim().replace(/\s*[\r\n]+\s*/g, ' ');
  }
  return filled;
}

/** What a form did, for the next page: in a cookie, so that no link can make one up. */
const COOKIE = 'payouts_desk_done';
const OPTIONS = { path: '/desk', httpOnly: true, sameSite: 'strict' } as const;
const MAX_AGE_S = 60;

const DONE = {
  approve: 'Approved',
  refuse: 'Refused',
  cancel: 'Canceled',
  poll: 'Queried the provider about',
  resolve: 'Resolved',
  acknowledge: 'Acknowledged the flags of',
  pause: 'Paused',
  resume: 'Resumed',
} as const;

const notice = z.object({
  done: z.enum(['approve', 'refuse', 'cancel', 'poll', 'resolve', 'acknowledge', 'pause', 'resume']),
  app: z.string().max(32),
  id: z.string().max(64),
  /** Without it, the id is that of a payout. */
  kind: z.enum(['batch', 'request', 'application']).optional(),
});
type Notice = z.output<typeof notice>;

/** Leads the browser to a page that shows the notice. */
export function redirectWith(reply: FastifyReply, path: string, what: Notice): FastifyReply {
  const value = Buffer.from(JSON.stringify(what)).toString('base64url');
  const secure = reply.request.protocol === 'https';
  reply.setCookie(COOKIE, value, { ...OPTIONS, secure, maxAge: MAX_AGE_S });
  return reply.redirect(path, 303);
}

/** The notice for this page, which is shown once. */
export function takeNotice({ cookies }: FastifyRequest, reply: FastifyReply): Html | undefined {
  const value = cookies[COOKIE];
  if (value === undefined) return undefined;
  reply.clearCookie(COOKIE, OPTIONS);
  const read = notice.safeParse(jsonOf(value));
  if (!read.success) return undefined;
  const { done, app, id, kind } = read.data;
  const name = kind === undefined ? html`<a href="${payoutLink({ app, partnerOrderId: id })}">${id}</a>` : id;
  return html`${DONE[done]} ${name}.`;
}

function jsonOf(value: string): unknown {
  try {
    return JSON.parse(Buffer.from(value, 'base64url').toString());
  } catch {
    return undefined;
  }
}
