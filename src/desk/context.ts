/** What the pages of the desk share. */
import type { Client } from '@temporalio/client';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Pausable } from '../client/pauses.ts';
import type { Caller, Verb } from '../config/callers.ts';
import type { Clock } from '../runtime/runtime.ts';
import { requireVerb } from '../service/permissions.ts';
import type { Service } from '../service/service.ts';
import type { AuditLog } from '../starters/api/audit.ts';
import type { Acting } from './acting.ts';
import type { Finding } from './findings.ts';
import type { Fields } from './forms.ts';
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
