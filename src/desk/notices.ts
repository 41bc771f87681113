/** Tells a person on the next page what a form did. The notice is in a cookie, so that no link can make one up. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type Html, html, payoutLink } from './html.ts';

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
