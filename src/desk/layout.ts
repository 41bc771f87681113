/** The frame of every page of the desk, its stylesheet, and the headers with which pages are sent. */
import helmet from '@fastify/helmet';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { may } from '../service/permissions.ts';
import { type Html, hidden, html, time } from './html.ts';
import type { Visit } from './identity.ts';

/** Nothing but the desk's own stylesheet loads, no script runs, and forms go to this server only. */
export async function protectPages(scope: FastifyInstance): Promise<void> {
  await scope.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
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
  ['/desk/today', 'Today'],
] as const;

export type Section = (typeof SECTIONS)[number][1];

export interface Page {
  title: string;
  /** Absent on pages for visitors who have not signed in. */
  visit?: Visit | undefined;
  section?: Section;
  content: Html;
}

const notice = z.object({ done: z.string(), id: z.string(), link: z.string().optional() });
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
  const { done, id, link } = data;
  return html`<p class="notice" role="status">${done} ${link === undefined ? id : html`<a href="${link}">${id}</a>`}.</p>`;
}

function framed({ title, visit, section, content }: Page, notice: Html | undefined): Html {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title} · Payouts desk</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/desk/desk.css"></head>
<body><a class="skip" href="#content">Skip to the content</a>
<header><p class="brand">Payouts desk</p>${visit && navigation(visit, section)}</header>
<main id="content" tabindex="-1"><h1>${title}</h1>
${notice}${visit && pauseBanners(visit)}
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

function pauseBanners({ caller, formToken, pauses }: Visit): Html {
  if (pauses === undefined)
    return html`<p class="warning" role="status">Whether an application is paused cannot be read now.</p>`;
  const paused = pauses.flatMap(({ app, paused: pause }) => (pause ? [{ app, ...pause }] : []));
  return html`${paused.map(
    ({ app, by, at, reason }) =>
      html`<div class="warning" role="status"><p>Application ${app} is paused: no create call is sent. ${by} paused it at ${time(at)}${reason !== undefined && html`: ${reason}`}.</p>${
        may(caller, 'pause') &&
        html`<form method="post" action="/desk/resume">${hidden({ formToken, app })}<button class="plain">Resume ${app}</button></form>`
      }</div>`,
  )}`;
}

/** The pages have no inline styles, which their policy forbids. */
export const STYLES = `:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #f5f6f8; --ink: #1a1d21; --faint: #555c66; --line: #c9ced6;
  --link: #0b4f9e; --strong: #0b4f9e; --on-strong: #ffffff; --danger: #a3161d; --on-danger: #ffffff;
  --warn: #7a4a00; --warn-ground: #fff4dc; --good: #17633a; --good-ground: #e6f5ec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171b; --panel: #1e2329; --ink: #eceff3; --faint: #a9b1bc; --line: #3c444e;
    --link: #86b7ff; --strong: #86b7ff; --on-strong: #0d1420; --danger: #ff9a9e; --on-danger: #2a0a0c;
    --warn: #ffcf7d; --warn-ground: #33270f; --good: #8ddfae; --good-ground: #12301f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--ground); padding: .5rem; }
header { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: center; padding: .6rem 1.5rem; background: var(--panel); border-bottom: 1px solid var(--line); }
header p { margin: 0; }
.brand { font-weight: 700; }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: 0; padding: 0; list-style: none; }
nav [aria-current] { color: var(--ink); font-weight: 700; }
.who { margin-left: auto; display: flex; gap: 1rem; align-items: center; }
main { max-width: 76rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; }
h1 { font-size: 1.6rem; margin: .5rem 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1.05rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.faint { color: var(--faint); }
.notice, .warning { padding: .6rem 1rem; border-left: 4px solid; }
.notice { background: var(--good-ground); color: var(--good); }
.warning { background: var(--warn-ground); color: var(--warn); }
.notice a, .warning a { color: inherit; }
.cards { display: grid; gap: 1rem; margin: 0; padding: 0; list-style: none; }
.card { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 1rem; }
.card > h2:first-child { margin-top: 0; }
.card > :last-child { margin-bottom: 0; }
.card form { margin-top: .8rem; }
.amount { font-size: 1.25rem; font-weight: 700; margin: 0; }
.sides { display: grid; gap: 1.5rem; }
@media (min-width: 60rem) { .sides { grid-template-columns: 3fr 2fr; align-items: start; } .sides > .card { position: sticky; top: 1rem; } }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .5rem 1.5rem; margin: .6rem 0; }
.facts div { min-width: 0; }
dt { color: var(--faint); font-size: .875rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.reasons { padding-left: 1.2rem; margin: .4rem 0; }
.reasons p { margin: .2rem 0; }
code { font: .9em ui-monospace, monospace; }
.scrolls { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin-bottom: .8rem; }
caption { text-align: left; font-weight: 700; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 400; overflow-wrap: anywhere; }
label, legend { display: block; font-weight: 600; }
fieldset { border: 1px solid var(--line); border-radius: 6px; margin: 0 0 1rem; padding: .8rem; }
.choice { display: flex; gap: .5rem; align-items: baseline; font-weight: 400; margin: .3rem 0; }
input, select, textarea, button, .button { font: inherit; color: inherit; }
input:not([type=radio], [type=checkbox], [type=hidden]), select { width: 100%; max-width: 30rem; padding: .4rem .6rem; background: var(--ground); border: 1px solid var(--faint); border-radius: 4px; }
input[type=file] { border: 0; padding: .4rem 0; background: none; }
button, .button { display: inline-block; padding: .45rem 1rem; border: 1px solid var(--strong); border-radius: 4px; background: var(--strong); color: var(--on-strong); font-weight: 600; text-decoration: none; cursor: pointer; }
button.danger { background: var(--danger); border-color: var(--danger); color: var(--on-danger); }
button.plain { background: none; border-color: var(--faint); color: inherit; font-weight: 400; }
.buttons { display: flex; flex-wrap: wrap; gap: .8rem; align-items: center; margin-top: .8rem; }
.filters { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: .8rem 1.2rem; align-items: end; margin-bottom: 1rem; }
.timeline { list-style: none; margin: 0; padding: 0 0 0 1.2rem; border-left: 2px solid var(--line); }
.timeline li { position: relative; padding-bottom: .8rem; }
.timeline li::before { content: ""; position: absolute; left: -1.56rem; top: .5rem; width: .65rem; height: .65rem; border-radius: 50%; background: var(--strong); }
.timeline p { margin: 0; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1.5rem; }
.figures .card { min-width: 0; }
progress { width: 100%; height: 1.2rem; accent-color: var(--strong); }
`;
