/** The frame of every page of the desk, and the headers with which pages are sent. */
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { SETTINGS_MISSING_REASON } from '../client/leases.ts';
import { may } from '../service/permissions.ts';
import { type Counts, INBOX, INBOX_SECTIONS, MOST_COUNTED } from './counts.ts';
import { type Html, hidden, html, time } from './html.ts';
import type { Visit } from './identity.ts';

/** Nothing but the desk's own stylesheet, script and icon loads, and forms go to this server only. */
export async function protectPages(scope: FastifyInstance): Promise<void> {
  await scope.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        scriptSrc: ["'self'"],
        imgSrc: ["'self'"],
        // The script writes no markup.
        requireTrustedTypesFor: ["'script'"],
        trustedTypes: ["'none'"],
        formAction: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    frameguard: { action: 'deny' },
    // With `no-referrer`, browsers send forms with the origin `null`.
    referrerPolicy: { policy: 'same-origin' },
    // The proxy that ends TLS decides for its whole host.
    strictTransportSecurity: false,
  });
  scope.addHook('onRequest', async (_request, reply) => {
    reply.header('permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=()');
    reply.header('cache-control', 'no-store');
  });
}

const SECTIONS = [
  ['/desk', 'Inbox'],
  ['/desk/payouts', 'Payouts'],
  ['/desk/batches', 'Batches'],
  ['/desk/statement', 'Statements'],
  ['/desk/today', 'Today'],
  ['/desk/events', 'Events'],
] as const;

export type Section = (typeof SECTIONS)[number][1];

export interface Page {
  title: string;
  /** Absent on pages for visitors who have not signed in. */
  visit?: Visit | undefined;
  section?: Section;
  /** The text in the search box. */
  search?: string;
  /** Beside the title. */
  actions?: Html;
  content: Html;
}

const notice = z.object({
  done: z.string(),
  id: z.string(),
  link: z.string().optional(),
  /** It was done, and did not succeed. */
  isBad: z.boolean().optional(),
});
export type Notice = z.output<typeof notice>;

declare module '@fastify/secure-session' {
  interface SessionData {
    notice: Notice;
  }
}

export async function sendPage(reply: FastifyReply, page: Page, status = 200): Promise<FastifyReply> {
  const body = await framed(page, page.visit && takenNotice(reply.request));
  return reply.code(status).type('text/html; charset=utf-8').send(body.toString());
}

/** It is shown once. */
function takenNotice({ session }: FastifyRequest): Html | undefined {
  const { data } = notice.safeParse(session.get('notice'));
  if (!data) return undefined;
  session.set('notice', undefined);
  const { done, id, link, isBad } = data;
  return html`<p class="${isBad ? 'bad warning' : 'notice'}" role="${isBad ? 'alert' : 'status'}">${done} ${link === undefined ? id : html`<a href="${link}">${id}</a>`}.</p>`;
}

function framed(page: Page, notice: Html | undefined): Html {
  const { title, visit, section, actions, content } = page;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title} · Payouts desk</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/desk/icon.svg"><link rel="stylesheet" href="/desk/desk.css">
<script src="/desk/desk.js" defer></script></head>
<body class="${visit ? 'desk' : 'outside'}"><a class="skip" href="#content">Skip to the content</a>
<header><p class="brand"><img src="/desk/icon.svg" alt="">Payouts desk</p>${visit && navigation(visit, section)}</header>
<div class="page">${visit && topBar(page)}<main id="content" tabindex="-1"><div class="title"><h1>${title}</h1>${actions}</div>
${notice}${visit && pauseBanners(visit)}
${content}
</main></div>${visit && keysDialog()}</body></html>
`;
}

function navigation({ caller, counts, canSignOut, formToken }: Visit, section: Section | undefined): Html {
  const links = SECTIONS.map(([path, name]) => {
    const text = name === 'Inbox' && counts ? html`${name} ${allIn(counts)}` : name;
    const here =
      name === section
        ? html`<a href="${path}" aria-current="page">${text}</a>`
        : html`<a href="${path}">${text}</a>`;
    return html`<li>${here}${name === 'Inbox' && inboxLinks(counts)}</li>`;
  });
  return html`<nav aria-label="Desk"><ul>${links}</ul></nav>
<div class="who"><span>${caller.name}</span>${
    canSignOut &&
    html`<form method="post" action="/desk/sign-out">${hidden({ formToken })}<button class="plain">Sign out</button></form>`
  }</div>`;
}

/** Instead of the count of each section, where there is no room for them. */
function allIn(counts: Counts): Html {
  const each = Object.values(counts);
  const sum = each.reduce((all, one) => all + Number(one), 0);
  // A section of which only a part was read has `+`.
  return html`<span class="count all">${Number.isNaN(sum) ? `${MOST_COUNTED}+` : sum}</span>`;
}

const KEYS = [
  ['j k', 'next and previous row of a table'],
  ['x', 'choose the row'],
  ['a r', 'go to “Approve chosen” and “Refuse chosen”'],
  ['/', 'search'],
  ['?', 'show these keys'],
] as const;

/** The script opens it. */
function keysDialog(): Html {
  return html`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2>
<dl>${KEYS.map(([keys, what]) => html`<div><dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd></div>`)}</dl>
<form method="dialog"><button class="plain">Close</button></form></dialog>`;
}

function inboxLinks(counts: Counts | undefined): Html {
  return html`<ul>${INBOX_SECTIONS.map(
    (id) =>
      html`<li><a href="/desk#${id}">${INBOX[id].title}${counts && html` <span class="count">${counts[id]}</span>`}</a></li>`,
  )}</ul>`;
}

/** The way back to the list of a page, and the search. */
function topBar({ title, section, search }: Page): Html {
  const list = SECTIONS.find(([, name]) => name === section && name !== title);
  return html`<div class="top">${
    list &&
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="${list[0]}"><span aria-hidden="true">← </span>${list[1]}</a></nav>`
  }<form role="search" action="/desk/find"><input name="q" type="search" aria-label="Search payouts" placeholder="Search ID, beneficiary, account, amount" maxlength="128" required value="${search ?? ''}"></form></div>`;
}

/** The default application needs no name. */
export function paymentsOf(app: string, payments: 'Payments' | 'payments' = 'Payments'): Html {
  return app === 'default' ? html`${payments}` : html`${payments} of ${app}`;
}

function pauseBanners(visit: Visit): Html | undefined {
  // A page about a problem does not ask.
  if (!('pauses' in visit)) return undefined;
  const { caller, formToken, pauses } = visit;
  if (pauses === undefined)
    return html`<p class="warning" role="status">Whether an application is paused cannot be read now.</p>`;
  const paused = pauses.flatMap(({ app, paused: pause }) => (pause ? [{ app, ...pause }] : []));
  return html`${paused.map(
    ({ app, by, at, reason }) =>
      html`<div class="warning" role="status"><p>${paymentsOf(app)} are paused: nothing is sent. ${by} paused them at ${time(at)}${reason !== undefined && html`: ${reason}`}.</p>${
        may(caller, 'pause') &&
        reason !== SETTINGS_MISSING_REASON &&
        html`<form method="post" action="/desk/resume">${hidden({ formToken, app, pausedAt: at })}<button class="plain">Resume ${paymentsOf(app, 'payments')}</button></form>`
      }</div>`,
  )}`;
}
