/** The page on which a user lets an application act for them (spec: user authorization page). */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { isJsonObject } from '../json.ts';
import type { World } from '../world.ts';
import { escapeHtml, page } from './html.ts';

const DEFAULT_USER = 'user-1';

interface Asked {
  appId: string;
  redirectUri: string;
  state: string | undefined;
}

export function addAuthorizationPage(server: FastifyInstance, world: World): void {
  server.get('/entrance/authorization', async (request, reply) => {
    const asked = askedFor(world, fieldsOf(request.query));
    return typeof asked === 'string' ? refuse(reply, asked) : show(reply, asked);
  });
  server.post('/entrance/authorization', async (request, reply) => {
    const form = Object.fromEntries(new URLSearchParams(String(request.body)));
    const asked = askedFor(world, form);
    if (typeof asked === 'string') return refuse(reply, asked);
    return reply.redirect(decided(world, asked, form), 302);
  });
}

/** What is asked, or why it cannot be: then nobody is sent anywhere. */
function askedFor(world: World, fields: Record<string, string>): Asked | string {
  const pick = (snake: string, camel: string) => fields[snake] ?? fields[camel] ?? '';
  const app = world.apps.get(pick('app_id', 'appId'));
  const redirectUri = pick('redirect_uri', 'redirectUri');
  if (!app) return 'app_id is not known';
  if (pick('response_type', 'responseType') !== 'code') return 'response_type must be code';
  if (!isWebAddress(redirectUri)) return 'redirect_uri is not a web address';
  if (app.redirectUri !== undefined && app.redirectUri !== redirectUri)
    return 'redirect_uri is not the registered one';
  return { appId: app.appId, redirectUri, state: fields['state'] };
}

function decided(world: World, asked: Asked, form: Record<string, string>): string {
  const target = new URL(asked.redirectUri);
  const openId = form['open_id']?.trim() || DEFAULT_USER;
  if (form['decision'] === 'allow')
    target.searchParams.set('code', world.codes.issue(asked.appId, openId, world.settings));
  else target.searchParams.set('error', 'access_denied');
  if (asked.state !== undefined) target.searchParams.set('state', asked.state);
  return target.toString();
}

function show(reply: FastifyReply, asked: Asked) {
  const hidden = {
    app_id: asked.appId,
    response_type: 'code',
    redirect_uri: asked.redirectUri,
    ...(asked.state === undefined ? {} : { state: asked.state }),
  };
  const inputs = Object.entries(hidden).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  );
  const body = `<p>The application <b>${escapeHtml(asked.appId)}</b> asks to act for you.</p>
<form method="post" action="/entrance/authorization">${inputs.join('')}
<p><label>Sign in as <input name="open_id" value="${DEFAULT_USER}"></label></p>
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button></form>`;
  return reply.type('text/html; charset=utf-8').send(page('Authorize', body));
}

function refuse(reply: FastifyReply, why: string) {
  return reply
    .code(400)
    .type('text/html; charset=utf-8')
    .send(page('Cannot authorize', `<p>${escapeHtml(why)}</p>`));
}

function fieldsOf(query: unknown): Record<string, string> {
  if (!isJsonObject(query)) return {};
  return Object.fromEntries(
    Object.entries(query).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
