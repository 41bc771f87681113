/** Small pages for people. They load nothing, run nothing, and tell nobody where the browser came from. */
import type { FastifyReply } from 'fastify';

/** `title` and `sentence` are ours: nothing that was sent is ever shown. */
export function sendPage(reply: FastifyReply, status: number, title: string, sentence: string): FastifyReply {
  return reply
    .code(status)
    .headers({
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      // The address of a call-back holds the authorization code.
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width">
<style>body{font:18px/1.5 system-ui;max-width:32rem;margin:20vh auto;padding:0 1rem}</style></head>
<body><h1>${title}</h1><p>${sentence}</p></body></html>
`);
}
