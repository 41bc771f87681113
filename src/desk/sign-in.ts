/** `/desk/sign-in` and `/desk/sign-out`. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Problem } from '../service/problem.ts';
import { type Desk, type Fields, filledIn, postForm } from './context.ts';
import { hidden, html, link } from './html.ts';
import { requireOwnOrigin } from './identity.ts';
import { sendPage } from './layout.ts';
import { CALLBACK, type OpenIdProvider } from './openid.ts';

export function signInRoutes(scope: FastifyInstance, desk: Desk): void {
  const { identity, audit } = desk;
  scope.get('/sign-in', async (request, reply) => {
    const next = nextOf(request.query);
    if (identity.provider) return sendProviderPage(reply, identity.provider, next);
    if (!identity.takesKeys) return reply.redirect(next, 303);
    // The cookie of the session does not arrive with a link from another site, but with this one.
    const isFromElsewhere = request.headers['sec-fetch-site'] === 'cross-site';
    if (!isFromElsewhere) return sendForm(reply, next);
    const content = html`<p><a class="button" href="${next}">Continue to the desk</a></p>`;
    return sendPage(reply, { title: 'Sign in', content });
  });

  if (identity.provider) providerRoutes(scope, desk, identity.provider);

  scope.post<{ Body: Fields }>('/sign-in', {
    onRequest: async (request) => {
      if (!identity.takesKeys) throw new Problem('route-not-found', 'nobody signs in here with a key');
      requireOwnOrigin(request);
    },
    onSend: audit.recorder({ method: 'POST', path: '/desk/sign-in' }),
    preHandler: scope.csrfProtection,
    handler: async (request, reply) => {
      const next = nextOf(request.body);
      try {
        identity.signIn(request, filledIn(request.body, 'key').key ?? '');
      } catch (error) {
        if (!(error instanceof Problem && error.status === 401)) throw error;
        return sendForm(reply, next, error);
      }
      bindForms(reply);
      return reply.redirect(next, 303);
    },
  });

  postForm(scope, desk, { path: '/sign-out' }, async (_visit, _fields, reply) => {
    identity.signOut(reply);
    return reply.redirect('/desk/sign-in', 303);
  });
}

function sendForm(reply: FastifyReply, next: string, wrong?: Problem): Promise<FastifyReply> {
  const content = html`${wrong && html`<p class="warning" role="alert">${wrong.message}</p>`}
<form method="post" action="/desk/sign-in">${hidden({ formToken: reply.generateCsrf(), next })}
<label for="key">Key</label><input id="key" name="key" type="password" autocomplete="off" required>
<div class="buttons"><button>Sign in</button></div></form>
<p class="faint">Ask your administrator for a key. The session ends after 30 minutes without use, and after 8 hours.</p>`;
  return sendPage(reply, { title: 'Sign in', content }, wrong?.status);
}

const BEGIN = '/desk/sign-in/begin';

function providerRoutes(scope: FastifyInstance, { identity, audit }: Desk, provider: OpenIdProvider): void {
  scope.get(inDesk(BEGIN), async (request, reply) =>
    reply.redirect(await provider.begin(request, nextOf(request.query)), 303),
  );
  scope.get(inDesk(CALLBACK), {
    onSend: audit.recorder({ method: 'GET', path: CALLBACK }),
    handler: async (request, reply) => {
      const next = await identity.signInPerson(request, provider);
      bindForms(reply);
      return reply.redirect(next, 303);
    },
  });
}

/** Two first pages at once would each choose a secret for forms, and the forms of one of them be refused (H377). */
function bindForms(reply: FastifyReply): void {
  reply.generateCsrf();
}

/** A link, because browsers apply the policy for forms to where the form leads, too. */
async function sendProviderPage(
  reply: FastifyReply,
  provider: OpenIdProvider,
  next: string,
): Promise<FastifyReply> {
  const isReachable = await provider.isReachable();
  const content = isReachable
    ? html`<p class="faint">Your organization's identity provider signs you in. The session ends after 30 minutes without use, and after 8 hours.</p>
<div class="buttons"><a class="button" href="${link(BEGIN, { next })}">Sign in</a></div>`
    : html`<p class="warning" role="alert">The identity provider can't be reached, so nobody can sign in now.</p>
<p><a href="${link('/desk/sign-in', { next })}">Try again</a></p>`;
  return sendPage(reply, { title: 'Sign in', content }, isReachable ? 200 : 503);
}

/** Routes are registered without the prefix of the desk. */
function inDesk(path: string): string {
  return path.replace(/^\/desk/, '');
}

/** Leads only to pages of the desk, so that a link can't send a user elsewhere. */
function nextOf(fields: unknown): string {
  const { next = '/desk' } = filledIn(fields, 'next');
  const here = 'http://desk.invalid';
  if (!URL.canParse(next, here)) return '/desk';
  const { origin, pathname, search } = new URL(next, here);
  return origin === here && /^\/desk(\/|$)/.test(pathname) ? `${pathname}${search}` : '/desk';
}
