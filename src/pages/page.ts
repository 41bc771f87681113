/** Small HTML pages that load no resources, run no scripts and send no referrer. */
import type { FastifyReply } from 'fastify';

/** `title` and `content` are trusted HTML. They must not contain input of a request. */
export function sendPage(reply: FastifyReply, status: number, title: string, content: string): FastifyReply {
  return reply
    .code(status)
    .headers({
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      // The URL of a callback contains the authorization code.
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width">
<style>body{font:18px/1.5 system-ui;max-width:32rem;margin:20vh auto;padding:0 1rem}</style></head>
<body><h1>${title}</h1><p>${content}</p></body></html>
`);
}
