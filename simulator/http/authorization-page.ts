/** The authorization page over HTTP. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  AUTHORIZATION_PATH,
  type AuthorizationRequest,
  DEFAULT_USER,
  readAuthorizationRequest,
  redirectTarget,
} from '../authorization.ts';
import { textFields } from '../json.ts';
import type { World } from '../world.ts';

export function addAuthorizationPage(server: FastifyInstance, world: World): void {
  server.get(AUTHORIZATION_PATH, async (request, reply) => {
    const asked = readAuthorizationRequest(world, textFields(request.query));
    return typeof asked === 'string' ? refuse(reply, asked) : show(reply, asked);
  });
  server.post(AUTHORIZATION_PATH, async (request, reply) => {
    const form = Object.fromEntries(new URLSearchParams(String(request.body)));
    const asked = readAuthorizationRequest(world, form);
    if (typeof asked === 'string') return refuse(reply, asked);
    const decision = form['decision'] === 'allow' ? 'allow' : 'deny';
    return reply.redirect(redirectTarget(world, asked, { decision, openId: form['open_id'] }), 302);
  });
}

function show(reply: FastifyReply, asked: AuthorizationRequest) {
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
<form method="post" action="${AUTHORIZATION_PATH}">${inputs.join('')}
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

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{border-bottom:1px solid #ddd;padding:.25rem .5rem;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}button{font:inherit;padding:.3rem 1rem}`;

export function page(title: string, body: string, head = ''): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<meta name="viewport" content="width=device-width"><style>${STYLE}</style>${head}</head>
<body><h1>${escapeHtml(title)}</h1>${body}</body></html>`;
}

export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = headings.map((heading) => `<th>${escapeHtml(heading)}</th>`).join('');
  const body = rows
    .map((row) => `<tr>${row.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`)
    .join('\n');
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}
