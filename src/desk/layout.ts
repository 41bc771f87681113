/** The frame of every page of the desk, and the headers with which pages are sent. */
import type { FastifyReply } from 'fastify';
import { type Html, hidden, html } from './html.ts';
import type { Visit } from './identity.ts';
import { pauseBanners } from './pauses.ts';

/** Nothing but the desk's own stylesheet loads, no script runs, and forms go to this server only. */
export const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  // With `no-referrer`, browsers send forms with the origin `null`.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
} as const;

const SECTIONS = [
  ['/desk', 'Inbox'],
  ['/desk/payouts', 'Payouts'],
  ['/desk/batches', 'Batches'],
  ['/desk/today', 'Today'],
] as const;

export type Section = (typeof SECTIONS)[number][1];

export interface Page {
  title: string;
  /** Absent on pages for visitors who have not signed in. */
  visit?: Visit | undefined;
  section?: Section;
  /** What the last form did. */
  notice?: Html | undefined;
  content: Html;
}

export async function sendPage(reply: FastifyReply, page: Page, status = 200): Promise<FastifyReply> {
  const body = await framed(page);
  return reply.code(status).type('text/html; charset=utf-8').send(body.toString());
}

function framed({ title, visit, section, notice, content }: Page): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title} · Payouts desk</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/desk/desk.css"></head>
<body><a class="skip" href="#content">Skip to the content</a>
<header><p class="brand">Payouts desk</p>${visit && navigation(visit, section)}</header>
<main id="content" tabindex="-1"><h1>${title}</h1>
${notice && html`<p class="notice" role="status">${notice}</p>`}${visit && pauseBanners(visit)}
${content}
</main></body></html>
`;
}

function navigation(visit: Visit, section: Section | undefined): Html {
  const links = SECTIONS.map(([path, name]) =>
    name === section
      ? html`<li><a href="${path}" aria-current="page">${name}</a></li>`
      : html`<li><a href="${path}">${name}</a></li>`,
  );
  return html`<nav aria-label="Desk"><ul>${links}</ul></nav>
<div class="who"><span>${visit.caller.name}</span>${
    visit.canSignOut &&
    html`<form method="post" action="/desk/sign-out">${hidden({ formToken: visit.formToken })}<button class="plain">Sign out</button></form>`
  }</div>`;
}
