/**
 * The documentation that the API server serves: `/`, which links to the rest, `/openapi.json`, `/docs`, the same document
 * as a page, and `/problems`, a page for each `type` of a problem document.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { PROBLEM_KINDS, PROBLEMS, problemType } from '../../contract/problems.ts';
import { prose } from '../../desk/html.ts';
import { sendPage } from '../../pages/page.ts';
import { Problem } from '../../service/problem.ts';
import { type OpenApiDocument, openApiDocument } from './openapi.ts';

const htmlPage = { 200: { description: 'HTML', type: 'text/html' } };
const SCRIPT = '/docs/scalar.js';

/** Scalar sets styles from scripts, and has its icons as data. Everything else comes from this server, and goes to it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `canSend`: `/docs` sends requests with a key that the reader enters. It keeps no key. */
export function referenceRoutes(
  server: FastifyInstance,
  { canSend, hasDesk }: { canSend: boolean; hasDesk: boolean },
): void {
  // Anyone may ask, so each is made once.
  let document: OpenApiDocument | undefined;
  let script: Buffer | undefined;
  server.get('/openapi.json', {
    exposeHeadRoute: true,
    schema: {
      summary: 'This document',
      responses: {
        200: { description: 'OpenAPI 3.1', type: 'application/json', schema: z.looseObject({}) },
      },
    },
    handler: async () => {
      document ??= openApiDocument(server);
      return document;
    },
  });
  server.get('/docs', {
    exposeHeadRoute: true,
    schema: { summary: 'This document as a page', responses: htmlPage },
    handler: (_request, reply) =>
      reply
        .headers({
          'content-security-policy': CONTENT_SECURITY_POLICY,
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
        })
        .type('text/html; charset=utf-8')
        .send(pageOf(canSend)),
  });
  const path = fileURLToPath(
    new URL('js/standalone.js', import.meta.resolve('@scalar/fastify-api-reference')),
  );
  server.get('/', {
    exposeHeadRoute: true,
    schema: { summary: 'Where to go from here as a page', responses: htmlPage },
    handler: (_request, reply) => sendPage(reply, 200, 'durable-payouts', linksTo(hasDesk)),
  });
  server.get(SCRIPT, async (_request, reply) => {
    // A read that fails is not kept.
    script ??= await readFile(path);
    return reply
      .headers({ 'cache-control': 'max-age=3600', 'x-content-type-options': 'nosniff' })
      .type('text/javascript; charset=utf-8')
      .send(script);
  });
}

function linksTo(hasDesk: boolean): string {
  const places = [
    ['/docs', 'API reference'],
    ['/openapi.json', 'OpenAPI document'],
    ...(hasDesk ? [['/desk', 'desk']] : []),
    ['/problems', 'problems'],
    ['/healthz', 'health'],
  ];
  return places.map(([path, what]) => `<a href="${path}">${path}</a>: ${what}`).join('<br>');
}

function pageOf(canSend: boolean): string {
  const configuration = {
    withDefaultFonts: false,
    telemetry: false,
    persistAuth: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    showToolbar: 'never',
    authentication: { preferredSecurityScheme: 'bearer' },
    hideTestRequestButton: !canSend,
    documentDownloadType: 'none',
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
  };
  const json = JSON.stringify(configuration).replaceAll('"', '&quot;');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>durable-payouts</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><noscript><p>This page needs scripts. <a href="/openapi.json">openapi.json</a> has the same.</p></noscript>
<script id="api-reference" data-url="/openapi.json" data-configuration="${json}"></script>
<script src="${SCRIPT}"></script></body></html>
`;
}

export function problemRoutes(server: FastifyInstance): void {
  const links = PROBLEM_KINDS.map((kind) => `<a href="${problemType(kind)}">${PROBLEMS[kind].title}</a>`);
  server.get('/problems', {
    exposeHeadRoute: true,
    schema: { summary: 'The kinds of problems as a page', responses: htmlPage },
    handler: (_request, reply) => sendPage(reply, 200, 'Problems', links.join('<br>')),
  });
  server.get<{ Params: { kind: string } }>('/problems/:kind', {
    exposeHeadRoute: true,
    schema: {
      summary: 'What a problem means and what to do: the page that `type` of a problem document names',
      responses: htmlPage,
      problems: { 404: 'no such kind of problem' },
    },
    handler: async ({ params }, reply) => {
      const kind = PROBLEM_KINDS.find((known) => known === params.kind);
      if (kind === undefined) throw new Problem('not-found', 'no such kind of problem');
      const { status, title, meaning, action } = PROBLEMS[kind];
      const parts = [
        `Status ${status}, <code>${problemType(kind)}</code>`,
        await prose(meaning),
        await prose(action),
      ];
      return sendPage(reply, 200, title, parts.join('</p><p>'));
    },
  });
}
