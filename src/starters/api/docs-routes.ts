/**
 * `/openapi.json`, `/docs`: the same document as a page without scripts or resources, `/docs/try`: a page that sends
 * requests, and `/problems`: a page for each `type` of a problem document.
 */
import type { FastifyInstance } from 'fastify';
import { PROBLEM_KINDS, PROBLEMS, problemType } from '../../contract/problems.ts';
import { sendPage } from '../../pages/page.ts';
import { Problem } from '../../service/problem.ts';
import { type DocumentedOperation, type OpenApiDocument, openApiDocument } from './openapi.ts';
import type { Operation } from './operation.ts';

const TRY_OUT = '/docs/try';

export function docsRoutes(
  server: FastifyInstance,
  operations: readonly Operation[],
  tryOut: 'on' | 'off' = 'off',
): void {
  const document = openApiDocument(operations);
  const page = pageOf(document, tryOut === 'on');
  if (tryOut === 'on') server.register((scope) => tryOutRoutes(scope, document));
  server.get('/openapi.json', async () => document);
  server.get('/docs', async (_request, reply) =>
    reply
      .headers({
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
      })
      .type('text/html; charset=utf-8')
      .send(page),
  );
}

/** Swagger UI. Its scripts and styles come from this server, and its requests go to this server only. */
async function tryOutRoutes(scope: FastifyInstance, document: OpenApiDocument): Promise<void> {
  const [swagger, swaggerUi] = await Promise.all([import('@fastify/swagger'), import('@fastify/swagger-ui')]);
  scope.addHook('onSend', async (_request, reply) => {
    reply.headers({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  });
  await scope.register(swagger.default, {
    mode: 'static',
    specification: { document: JSON.parse(JSON.stringify(document)) },
  });
  await scope.register(swaggerUi.default, {
    routePrefix: TRY_OUT,
    // The validator is on another host. A key stays in the page, and is gone when the page closes.
    uiConfig: { validatorUrl: null, persistAuthorization: false, displayRequestDuration: true },
    staticCSP: TRY_OUT_POLICY,
  });
}

/** Swagger UI sets styles from scripts, and has its icons as data. */
const TRY_OUT_POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/** The pages that `type` of a problem document names. */
export function problemRoutes(server: FastifyInstance): void {
  const links = PROBLEM_KINDS.map((kind) => `<a href="${problemType(kind)}">${PROBLEMS[kind].title}</a>`);
  server.get('/problems', async (_request, reply) => sendPage(reply, 200, 'Problems', links.join('<br>')));
  server.get<{ Params: { kind: string } }>('/problems/:kind', async ({ params }, reply) => {
    const kind = PROBLEM_KINDS.find((known) => known === params.kind);
    if (kind === undefined) throw new Problem('not-found', 'no such kind of problem');
    const { status, title, meaning, action } = PROBLEMS[kind];
    const parts = [`Status ${status}, <code>${problemType(kind)}</code>`, prose(meaning), prose(action)];
    return sendPage(reply, 200, title, parts.join('</p><p>'));
  });
}

/** Text of our own tables, in which backticks mark code. */
function prose(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

const STYLE = `body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{font:600 1rem ui-monospace,monospace;margin:2rem 0 .3rem}pre{background:#f4f4f4;padding:.8rem;overflow:auto}
td{padding:.1rem 1rem .1rem 0;vertical-align:top}summary{cursor:pointer}`;

function pageOf({ info, paths, components }: OpenApiDocument, canTryOut: boolean): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => section(`${method.toUpperCase()} ${path}`, one)),
  );
  const schemas = Object.entries(components.schemas).map(([name, schema]) => details(name, schema));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(info.title)}</title>
<meta name="viewport" content="width=device-width"><style>${STYLE}</style></head>
<body><h1>${escaped(info.title)}</h1><p>${escaped(info.description)}</p>
<p>Machine-readable: <a href="/openapi.json">openapi.json</a></p>${canTryOut ? `<p><a href="${TRY_OUT}">Send requests</a></p>` : ''}
${operations.join('\n')}
<h2>Schemas</h2>
${schemas.join('\n')}
</body></html>
`;
}

function section(name: string, one: DocumentedOperation): string {
  const parameters = one.parameters.map((parameter) => [
    parameter.name,
    `${parameter.in}${parameter.required ? '' : ', optional'}`,
  ]);
  const responses = Object.entries(one.responses).map(([status, { description }]) => [status, description]);
  const bodies = Object.entries(one.requestBody?.content ?? {});
  return `<section><h2>${escaped(name)}</h2><p>${escaped(one.summary)}. ${escaped(one.description ?? '')}</p>
${table(parameters)}
${bodies.map(([type, { schema }]) => details(`body: ${type}`, schema)).join('\n')}
${table(responses)}</section>`;
}

function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`);
  return rows.length === 0 ? '' : `<table>${cells.join('')}</table>`;
}

function details(title: string, schema: unknown): string {
  const content = escaped(JSON.stringify(schema, null, 2));
  return `<details><summary>${escaped(title)}</summary><pre>${content}</pre></details>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
