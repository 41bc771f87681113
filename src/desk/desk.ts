/** `/desk`: pages to approve, review and search payouts, without Temporal. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cached } from '../client/shared-reads.ts';
import { PROBLEMS, type ProblemKind } from '../contract/problems.ts';
import { Problem } from '../service/problem.ts';
import { payoutId } from '../service/requests.ts';
import { CallerGoneError } from '../service/waits.ts';
import { accountRoutes } from './accounts.ts';
import { ICON, SCRIPT, STYLES } from './assets.ts';
import { findingsOf } from './attention.ts';
import { batchRoutes } from './batch.ts';
import { batchListRoutes } from './batches.ts';
import { confirmRoutes } from './confirm.ts';
import { acceptForms, type Desk, type DeskOptions, filledIn, ifKnown } from './context.ts';
import { sharedCounts } from './counts.ts';
import { decideRoutes } from './decide.ts';
import { decidedRoutes } from './decided.ts';
import { eventRoutes } from './events.ts';
import { findRoutes } from './find.ts';
import { html, link, onTheDesk, payoutLink, prose } from './html.ts';
import { Identity, type Visit, visitOf } from './identity.ts';
import { inboxRoutes } from './inbox.ts';
import { protectPages, sendPage } from './layout.ts';
import { payoutRoutes } from './payouts.ts';
import { signInRoutes } from './sign-in.ts';
import { statementRoutes } from './statement.ts';
import { storyRoutes } from './story.ts';
import { todayRoutes } from './today.ts';
import { uploadRoutes } from './uploads.ts';

/** They describe workflows one by one. */
const FINDINGS_FRESH_MS = 15_000;
const PAUSES_FRESH_MS = 1_000;

const ASSETS = [
  ['/desk.css', 'text/css', STYLES],
  ['/desk.js', 'text/javascript', SCRIPT],
  ['/icon.svg', 'image/svg+xml', ICON],
] as const;

export function deskRoutes(server: FastifyInstance, options: DeskOptions): void {
  const { client, service, callers, config, runtime, toProblem } = options;
  const identity = new Identity(callers, config, runtime);
  const desk: Desk = {
    ...options,
    identity,
    findings: cached(
      () => service.withTemporalDeadline(() => findingsOf(client, config.PAYMENTS_ENVIRONMENT)),
      FINDINGS_FRESH_MS,
      runtime.clock,
    ),
    counts: sharedCounts(service, runtime.clock),
    pauses: cached(() => service.withTemporalDeadline(() => service.pauses.list()), PAUSES_FRESH_MS),
  };
  const plugin = async (scope: FastifyInstance) => {
    await protectPages(scope);
    acceptForms(scope);
    await identity.serve(scope);
    scope.setErrorHandler((error, request, reply) => {
      // The server sends nothing to a caller who is gone.
      if (error instanceof CallerGoneError) throw error;
      return sendProblem(desk, request, reply, toProblem(ofForm(error), request));
    });
    scope.setNotFoundHandler(async (request, reply) => {
      try {
        identity.admit(request, reply);
      } catch {
        // Somebody who has not signed in gets the page without the navigation.
      }
      return sendProblem(desk, request, reply, new Problem('route-not-found', 'the desk has no such page'));
    });
    for (const [path, type, content] of ASSETS)
      scope.get(path, async (_request, reply) =>
        reply.header('cache-control', 'max-age=300').type(`${type}; charset=utf-8`).send(content),
      );
    signInRoutes(scope, desk);
    inboxRoutes(scope, desk);
    confirmRoutes(scope, desk);
    decidedRoutes(scope, desk);
    decideRoutes(scope, desk);
    payoutRoutes(scope, desk);
    findRoutes(scope, desk);
    storyRoutes(scope, desk);
    batchListRoutes(scope, desk);
    uploadRoutes(scope, desk);
    batchRoutes(scope, desk);
    statementRoutes(scope, desk);
    todayRoutes(scope, desk);
    eventRoutes(scope, desk);
    accountRoutes(scope, desk);
  };
  server.register(plugin, { prefix: '/desk' });
}

/** An error of `csrfProtection` has a code of its own. */
function ofForm(error: unknown): unknown {
  const isOfForm = error instanceof Error && 'code' in error && String(error.code).startsWith('FST_CSRF_');
  return isOfForm ? new Problem('form-not-accepted', 'the form is not from a page of this session') : error;
}

/** Titles for people, where those of our tables are for programs. */
const TITLES: Partial<Record<ProblemKind, string>> = {
  'invalid-request': 'Not accepted',
  'malformed-request': 'Not accepted',
  'verb-not-allowed': 'No permission',
  'application-not-allowed': 'No permission',
  'outside-scope': 'No permission',
  'content-too-large': 'Too large',
  'route-not-found': 'Page not found',
};

/** Instructions for people, where those of our tables are for programs. */
const INSTRUCTIONS: Partial<Record<ProblemKind, string>> = {
  'invalid-request': 'Go back, and correct it.',
  'malformed-request': 'Go back, and try again.',
  'key-missing': 'Sign in, then open the page again.',
  'key-expired': 'Ask your administrator for another key.',
  'verb-not-allowed': 'Ask your administrator for the permission.',
  'application-not-allowed': 'Ask your administrator for the application.',
  'amount-too-large': 'Somebody with a higher limit has to do it.',
  'outside-scope': 'Your key is limited: search for payouts by their IDs.',
  'content-too-large': 'Nothing was started. Split the file into batches of up to 4 MiB each.',
  'not-accepted-now': 'Nothing was changed. Go back, and read what has changed.',
  'already-ended': 'Nothing was changed. Go back, and read how it finished.',
  'not-found': 'Check the ID and its application, or search for it.',
  'route-not-found': 'Choose a page from the menu, or search.',
  'request-limit-exceeded': 'Wait a few seconds, then load the page again.',
};

/** A page about a request that was not carried out. Redirects to the sign-in form if that is the reason. */
async function sendProblem(
  desk: Desk,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): Promise<FastifyReply> {
  const { kind, status, message, fields, retryAfterSeconds } = problem;
  const { hasSessions } = desk.identity;
  if (status === 401 && hasSessions && request.method === 'GET')
    return reply.redirect(link('/desk/sign-in', { next: request.url }), 303);
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  if (status === 401 && hasSessions) return sendEnded(reply, request, problem);
  const { title, meaning, action } = PROBLEMS[kind];
  const todo = INSTRUCTIONS[kind] ?? `${onTheDesk(meaning)} ${onTheDesk(action)}`;
  const [path, name] = backFrom(request);
  const page = {
    title: TITLES[kind] ?? title,
    visit: await problemVisit(desk, request, status),
    content: html`<p class="warning" role="alert">${message}</p>
${fields.length > 1 && html`<ul>${fields.map(({ path, message: why }) => html`<li><code>${path}</code> ${why}</li>`)}</ul>`}
<p>${prose(todo)}</p>
<p><a class="button" href="${path}">${name}</a></p><p class="faint">Request ${request.id}</p>`,
  };
  return sendPage(reply, page, status);
}

/** A form whose session has ended did nothing. Its page comes back after the sign-in, and decides nothing by itself. */
function sendEnded(reply: FastifyReply, request: FastifyRequest, { kind, message, status }: Problem) {
  const [next] = backFrom(request);
  const page = {
    title: kind === 'key-missing' ? 'Your session ended' : 'Your key has expired',
    content: html`<p class="warning" role="alert">${kind === 'key-missing' ? 'Your session ended.' : `${message}.`} Nothing was decided, and nothing has changed.</p>
<p>Sign in, then send the form again.</p>
<p><a class="button" href="${link('/desk/sign-in', { next })}">Sign in</a></p>`,
  };
  return sendPage(reply, page, status);
}

/** With the counts of the navigation, but for an error of ours, after which Temporal may not respond. */
async function problemVisit(desk: Desk, request: FastifyRequest, status: number): Promise<Visit | undefined> {
  const visit = visitOf(request);
  if (!visit || status >= 500) return visit;
  return { ...visit, counts: await ifKnown(desk.counts(visit.caller)) };
}

/** The page of the payout that the form names, else the page with the link or the form, if it's one of the desk. */
function backFrom(request: FastifyRequest): readonly [path: string, name: string] {
  const { headers, host, body, server } = request;
  const { data: id } = payoutId.safeParse(filledIn(body, 'app', 'partnerOrderId'));
  if (id) return [payoutLink(id), 'Back to the payout'];
  const { referer = '' } = headers;
  const { pathname, search, host: from } = URL.canParse(referer) ? new URL(referer) : NOWHERE;
  const path = `${pathname}${search}`;
  const isPage =
    from === host && /^\/desk\/?/.test(pathname) && server.hasRoute({ url: pathname, method: 'GET' });
  return isPage && path !== '/desk' && path !== request.url ? [path, 'Back'] : ['/desk', 'Back to the inbox'];
}

const NOWHERE = { pathname: '', search: '', host: '' };
