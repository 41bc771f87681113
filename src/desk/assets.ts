/** What the pages load: the stylesheet, the icon, and a script without which every page works too. */

/** The pages have no inline styles, which their policy forbids. */
export const STYLES = `:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #f7f8fa; --raised: #ffffff; --ink: #1b2130; --faint: #5a6478; --line: #e2e6ed; --field: #8a94a6;
  --accent: #4338ca; --on-accent: #ffffff; --accent-ground: #eef0ff;
  --good: #116b3c; --good-ground: #dcf5e6; --warn: #855000; --warn-bar: #e8a317; --warn-ground: #ffefcf; --bad: #a6202b; --bad-ground: #fde5e6;
  --busy: #1d4fb8; --busy-ground: #e3edff; --calm: #4b5568; --calm-ground: #eaedf2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #11141b; --panel: #171b24; --raised: #1b202b; --ink: #e8ebf2; --faint: #a2abbd; --line: #2c3340; --field: #6c768a;
    --accent: #a9b4ff; --on-accent: #10142a; --accent-ground: #262c4d;
    --good: #86dfac; --good-ground: #143322; --warn: #ffd08a; --warn-bar: #e8a317; --warn-ground: #3a2b10; --bad: #ffa6aa; --bad-ground: #401c20;
    --busy: #a5c4ff; --busy-ground: #1b2d52; --calm: #bdc5d3; --calm-ground: #2a303c;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 14px/1.5 system-ui, sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--ground); padding: .5rem; z-index: 1; }
header { display: flex; flex-wrap: wrap; gap: .4rem 1.5rem; align-items: center; padding: .6rem 1rem; background: var(--panel); border-bottom: 1px solid var(--line); }
.brand { display: flex; gap: .5rem; align-items: center; margin: 0; font-weight: 700; }
.brand img { width: 1.4rem; height: 1.4rem; }
header nav { order: 1; flex: 1 0 100%; }
nav ul { display: flex; flex-wrap: wrap; gap: .1rem; margin: 0; padding: 0; list-style: none; }
nav a { display: flex; gap: .5rem; padding: .35rem .45rem; border-radius: 6px; color: var(--faint); text-decoration: none; }
nav a:hover { background: var(--calm-ground); color: var(--ink); }
nav [aria-current] { background: var(--accent-ground); color: var(--ink); font-weight: 600; }
nav ul ul { display: none; }
.count { margin-left: auto; white-space: nowrap; min-width: 1.6em; padding: 0 .45em; border-radius: 1em; background: var(--calm-ground); color: var(--calm); font-size: 12px; font-weight: 600; line-height: 1.6; text-align: center; }
.who { margin-left: auto; display: flex; gap: .8rem; align-items: center; color: var(--faint); }
.page { min-width: 0; }
.top { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; padding: .8rem 1rem 0; }
.crumbs { flex: 1 1 auto; }
.crumbs a { display: inline; padding: 0; } .crumbs a:hover { background: none; text-decoration: underline; }
[role=search] { flex: 0 1 24rem; margin-left: auto; }
main { max-width: 84rem; padding: 1rem; }
.title { display: flex; flex-wrap: wrap; gap: .4rem 1rem; align-items: center; justify-content: space-between; margin: 0 0 1rem; }
.outside main { max-width: 28rem; margin: 10vh auto 0; padding: 1.5rem; border: 1px solid var(--line); border-radius: 8px; }
@media (max-width: 30rem) { .outside main { margin-top: 0; border: 0; } }
@media (min-width: 60rem) {
  .desk { display: grid; grid-template-columns: 14rem minmax(0, 1fr); min-height: 100vh; }
  .desk header { flex-direction: column; flex-wrap: nowrap; align-items: stretch; gap: 1rem; padding: 1.2rem .8rem; border: 0; border-right: 1px solid var(--line); position: sticky; top: 0; height: 100vh; overflow-y: auto; }
  .desk .brand { padding: 0 .7rem; }
  header nav { order: 0; flex: 1; }
  nav ul, nav ul ul { display: block; }
  header nav a { padding: .35rem .7rem; }
  nav ul ul a { padding-left: 1.5rem; font-size: 13px; }
  .count.all { display: none; }
  .who { margin: 0; padding: .8rem .7rem 0; border-top: 1px solid var(--line); justify-content: space-between; }
  .top { padding: 1rem 2rem 0; max-width: 84rem; }
  main { padding: 1rem 2rem 4rem; }
}
@media (max-width: 45rem) { [role=search] { flex-basis: 100%; } }
h1 { font-size: 22px; line-height: 1.25; letter-spacing: -.01em; margin: 0; overflow-wrap: anywhere; min-width: 0; }
.title:has(~ .headline) { margin: 0 0 .2rem; } .title:has(~ .headline) h1 { font-size: 14px; letter-spacing: 0; color: var(--faint); }
h2 { font-size: 16px; margin: 2rem 0 .6rem; }
h3 { font-size: 14px; margin: 1.2rem 0 .4rem; overflow-wrap: anywhere; }
section .title { margin: 2rem 0 .6rem; } section .title h2 { margin: 0; } .title + section .title { margin-top: .4rem; } .title + :is(.warning, .notice) { margin-top: .6rem; }
p { margin: .5rem 0; }
.visually-hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.faint { color: var(--faint); }
.pill { display: inline-block; padding: 0 .6em; border-radius: 1em; font-size: 12px; font-weight: 600; line-height: 1.7; letter-spacing: 0; white-space: nowrap; background: var(--calm-ground); color: var(--calm); }
.pill.good { background: var(--good-ground); color: var(--good); }
.pill.warn { background: var(--warn-ground); color: var(--warn); }
.pill.bad { background: var(--bad-ground); color: var(--bad); }
.pill.busy { background: var(--busy-ground); color: var(--busy); }
.notice, .warning { margin: 0 0 1rem; padding: .6rem .9rem; border-radius: 6px; border-left: 3px solid; }
.notice { background: var(--good-ground); color: var(--good); }
.warning { background: var(--warn-ground); color: var(--warn); }
.warning .amount small { color: inherit; }
.bad.warning { background: var(--bad-ground); color: var(--bad); }
.notice a, .warning a { color: inherit; }
[role=alert]::first-letter { text-transform: uppercase; }
.warning > :first-child { margin-top: 0; } .warning > :last-child { margin-bottom: 0; }
.card, .empty { background: var(--raised); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; }
.card > :first-child { margin-top: 0; } .card > :last-child { margin-bottom: 0; }
.empty { padding: 2rem 1rem; text-align: center; color: var(--faint); }
.empty strong { display: block; color: var(--ink); }
.amount { font-variant-numeric: tabular-nums; white-space: nowrap; }
.amount small { color: var(--faint); font-size: 12px; font-weight: 400; }
.soon { color: var(--warn); font-weight: 600; }
.error { margin: .2rem 0; color: var(--bad); } [aria-invalid] { border-color: var(--bad) !important; }
.headline { margin: 0 0 .3rem; font-size: 26px; font-weight: 600; letter-spacing: -.02em; line-height: 1.3; }
.headline small { font-size: 16px; }
.headline .pill { margin-left: .3rem; vertical-align: .3em; }
.lead { max-width: 52rem; }
.lead:last-of-type { margin-bottom: 1.2rem; }
.sides { display: grid; gap: 1.5rem; }
.sides > * { min-width: 0; } .sides > :empty { display: none; }
.card + .card { margin-top: 1rem; }
.flags { margin-bottom: 1.2rem; }
@media (min-width: 75rem) {
  .sides { grid-template: auto 1fr / minmax(0, 1fr) 23rem; align-items: start; }
  .side { grid-column: 2; grid-row: 1 / span 2; }
}
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(8rem, 100%), 1fr)); gap: .7rem 1.5rem; margin: .8rem 0; }
.facts div { min-width: 0; }
.side .facts { display: block; }
.side .facts div { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: 1rem; padding: .35rem 0; border-bottom: 1px solid var(--line); }
.side .facts div:last-child { border: 0; }
dt { color: var(--faint); font-size: 12px; line-height: 21px; }
dd { margin: 0; overflow-wrap: anywhere; }
.reasons { padding: 0; margin: 0; list-style: none; }
.reasons li + li { margin-top: .6rem; }
.reasons p { margin: .2rem 0; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.scrolls { position: relative; overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; margin-bottom: 1rem; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; padding: .6rem .9rem; color: var(--faint); border-bottom: 1px solid var(--line); }
th, td { text-align: left; vertical-align: top; padding: .5rem .9rem; border-bottom: 1px solid var(--line); }
tr:last-child > * { border-bottom: 0; }
thead th { color: var(--faint); font-size: 12px; font-weight: 600; background: var(--panel); white-space: nowrap; border-bottom: 1px solid var(--line); }
tbody th { font-weight: 500; min-width: 8rem; }
tbody tr:hover, tbody tr:focus-within { background: var(--panel); }
.sorts time, .payouts :is(th, td) { white-space: nowrap; }
.payouts [data-label="Beneficiary"], .payouts tbody th { white-space: normal; }
.payouts tbody th { min-width: 9rem; overflow-wrap: anywhere; }
.reviews [data-label="What to decide"] { overflow-wrap: anywhere; }
@media (min-width: 45rem) {
  .sorts td:is([data-label="Beneficiary"], [data-label="What to decide"]) { min-width: 10rem; }
  .terms :is(td[data-label="Rate locked for"], td[data-label="Waiting"]) { min-width: 7.5rem; }
}
@media (max-width: 90rem) { .chooses .terms:has([data-label="Batch"]) [data-label="Fee"] { display: none; } } .terms [data-label="Batch"] { white-space: nowrap; }
@media (max-width: 73.75rem) {
  th, td { padding: .5rem .6rem; }
  .chooses :is([data-label="Fee"], [data-label="Rate locked for"]), .reviews :is([data-label="Sent"], [data-label="Provider last asked"]), .payouts :is([data-label="Client"], [data-label="Started by"]) { display: none; }
}
tbody a { text-decoration: none; } tbody a:hover { text-decoration: underline; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td small, th small { display: block; color: var(--faint); font-size: 12px; font-weight: 400; }
.amount small { display: inline; }
@media (max-width: 45rem) {
  .scrolls { border: 0; overflow: visible; }
  header nav a, .crumbs a, .tabs a, tbody th a, button.copy { display: inline-flex; align-items: center; min-height: 2rem; min-width: 2rem; }
  .choice { min-height: 2rem; align-items: center; } summary { padding: .35rem 0; }
  table, tbody, tr, caption { display: block; }
  caption { padding: 0 0 .5rem; border: 0; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tbody tr { border: 1px solid var(--line); border-radius: 8px; padding: .5rem .8rem; margin-bottom: .7rem; }
  tbody tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 1rem; }
  tbody th, tbody td { padding: .15rem 0; border: 0; text-align: left; overflow-wrap: anywhere; }
  tbody th, tbody td:has(ul, form), [data-label="What to decide"], [data-label="What is wrong"] { grid-column: 1 / -1; }
  tbody td:empty { display: none; }
  tbody td::before { content: attr(data-label); display: block; color: var(--faint); font-size: 12px; }
  tbody .number { text-align: left; }
  td .amount { white-space: normal; overflow-wrap: normal; } td:has(.long) { grid-column: 1 / -1; }
  tbody td .buttons { justify-content: flex-start; }
  .payouts tbody tr { grid-template-columns: minmax(0, 1fr) auto; align-items: center; }
  .payouts tbody :is(th, td) { grid-row: 1; grid-column: 1; white-space: normal; min-width: 0; }
  .payouts :is([data-label="Amount"], [data-label="Status"]) { grid-column: 2; text-align: right; }
  .payouts :is([data-label="Beneficiary"], [data-label="Status"]) { grid-row: 2; }
  .payouts [data-label="Started"], .chooses [data-label="Started by"], .payouts td::before { display: none; }
  header { padding: .6rem .5rem; } header nav ul { gap: 0; } header nav a { gap: .2rem; padding: .35rem .15rem; font-size: 13px; } .count.all { min-width: 0; padding: 0 .4em; font-size: 11px; }
}
label, legend { display: block; font-weight: 600; margin-bottom: .15rem; }
legend { padding: 0; }
input + label { margin-top: .8rem; }
form + details, .card > form + form { margin: .8rem 0 0; }
fieldset { border: 0; margin: 0 0 1rem; padding: 0; min-width: 0; }
.choice { display: flex; gap: .5rem; align-items: baseline; font-weight: 400; margin: .4rem 0; overflow-wrap: anywhere; }
th .choice { margin: 0; font-weight: inherit; }
.tap { display: flex; align-self: center; margin: -.5rem; padding: .5rem; }
input, select, button, .button, summary { font: inherit; color: inherit; }
input:not([type=radio], [type=checkbox], [type=hidden], [type=file]), select { width: 100%; padding: .35rem .6rem; background: var(--ground); border: 1px solid var(--field); border-radius: 6px; }
::placeholder { color: var(--faint); opacity: 1; }
input[type=file] { width: 100%; background: var(--panel); border-radius: 6px; padding: 1.2rem; border: 2px dashed var(--field); cursor: pointer; }
.whole { grid-column: 1 / -1; }
input[type=checkbox], input[type=radio] { accent-color: var(--accent); width: 1rem; height: 1rem; margin: 0; flex: none; align-self: center; }
button:disabled { opacity: .5; cursor: default; }
button, .button { display: inline-block; white-space: nowrap; padding: .35rem .9rem; border: 1px solid var(--accent); border-radius: 6px; background: var(--accent); color: var(--on-accent); font-weight: 600; text-decoration: none; cursor: pointer; }
button.danger { background: none; border-color: var(--bad); color: var(--bad); }
button.plain, .button.plain { background: none; border-color: var(--field); color: inherit; font-weight: 400; }
button.sort { display: inline-flex; gap: .3em; padding: 0; border: 0; background: none; color: inherit; font-weight: inherit; }
button.sort:hover { color: var(--ink); }
thead input[type=checkbox] { margin: 0 .5rem 0 0; vertical-align: -.2em; }
button.sort::after { content: "↕" / ""; opacity: .5; } [aria-sort] button.sort::after { content: "↓" / ""; opacity: 1; } [aria-sort=ascending] button.sort::after { content: "↑" / ""; }
button.copy { padding: 0 .35rem; margin-left: .3rem; border: 0; background: none; color: var(--faint); font-size: 12px; font-weight: 400; }
button.copy:hover { color: var(--accent); }
.buttons { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin-top: .8rem; }
.fields:has(.error) { align-items: start; }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(13rem, 100%), 1fr)); gap: .8rem 1rem; align-items: end; }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; align-items: center; margin: 0 0 1rem; padding: 0; list-style: none; }
.chips li { display: flex; gap: .4rem; padding: .1rem .6rem; border-radius: 6px; background: var(--accent-ground); } .chips li:last-child { background: none; }
.chips a { text-decoration: none; }
.states { display: flex; flex-wrap: wrap; gap: .5rem; margin: 0 0 1rem; padding: 0; list-style: none; }
.states li { padding: .3rem .7rem; border: 1px solid var(--line); border-radius: 8px; }
.pages { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; }
.tabs { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem; margin: 0 0 .8rem; padding: 0; list-style: none; }
.tabs a { display: block; padding: .2rem .8rem; border: 1px solid var(--line); border-radius: 1em; color: var(--faint); text-decoration: none; }
.tabs [aria-current] { border-color: var(--accent); background: var(--accent-ground); color: var(--ink); }
details { margin: 0 0 1rem; }
summary { cursor: pointer; color: var(--accent); width: max-content; max-width: 100%; }
details[open] > summary { margin-bottom: .6rem; }
fieldset details { margin: .5rem 0 0; padding: .4rem .8rem; border: 1px solid var(--line); border-radius: 6px; }
fieldset details form { margin-bottom: .6rem; }
dialog { max-width: calc(100vw - 2rem); padding: 1rem 1.5rem; border: 1px solid var(--line); border-radius: 8px; background: var(--raised); color: inherit; }
dialog h2 { margin-top: 0; } dialog dl div { display: grid; grid-template-columns: 4rem 1fr; gap: 1rem; padding: .2rem 0; }
.timeline { list-style: none; margin: 0; padding: 0 0 0 1.6rem; }
.timeline li { position: relative; padding-bottom: .9rem; display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem; }
.timeline li p:first-child { flex: 1 1 20rem; }
.timeline li::before { content: "•"; position: absolute; left: -1.6rem; top: .1rem; width: 1.15rem; height: 1.15rem; border-radius: 50%; background: var(--calm-ground); color: var(--calm); font-size: 11px; font-weight: 700; line-height: 1.15rem; text-align: center; }
.timeline li.good::before { content: "✓"; background: var(--good-ground); color: var(--good); }
.timeline li.warn::before { content: "!"; background: var(--warn-ground); color: var(--warn); }
.timeline li.bad::before { content: "✕"; background: var(--bad-ground); color: var(--bad); }
.timeline li:not(:last-child)::after { content: ""; position: absolute; left: -1.05rem; top: 1.4rem; bottom: 0; border-left: 1px solid var(--line); }
.timeline p { margin: 0; overflow-wrap: anywhere; }
.sides > div > :first-child > h2, .sides > div > h2:first-child { margin-top: 0; }
form + form { margin-top: .8rem; }
.card .scrolls { border: 0; margin: 0 -.9rem; } .card + .empty, .card + .scrolls { margin-top: 1rem; }
td .buttons { margin: 0; gap: .4rem; justify-content: flex-end; } .pair { display: flex; gap: .4rem; } td select { width: auto; }
form + .scrolls, .sides { margin-top: 1rem; }
.bulk { display: flex; flex-wrap: wrap; gap: .8rem 1rem; align-items: end; padding: .8rem; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); }
.bulk { position: sticky; bottom: .5rem; }
@media (max-width: 45rem) {
  .bulk { gap: .4rem .8rem; padding: .6rem .8rem; bottom: 0; margin: 0 -.5rem; } .bulk .buttons { flex: 1 1 auto; }
  form.bulk { position: static; margin: 0; }
  .chooses thead { position: static; width: auto; height: auto; clip-path: none; overflow: visible; }
  .chooses thead tr { padding: 0 .8rem .5rem; } .chooses thead th { display: none; padding: 0; border: 0; background: none; } .chooses thead th:has(input) { display: flex; align-items: center; min-height: 2rem; }
  .chooses th:has(input) .sort { display: none; } .chooses thead th:has(input)::after { content: "Choose all"; }
  header nav > ul { flex-wrap: nowrap; overflow-x: auto; }
}
.bulk output { flex: 1 1 14rem; align-self: center; font-weight: 600; } .bulk .buttons { margin: 0; }
@media (max-width: 45rem) { .flagged td[data-label^="Why"] { grid-column: 1 / -1; } }
.flagged details { margin: 0; } .flagged summary { color: inherit; width: auto; } .flagged details p { margin: .2rem 0 .4rem; color: var(--faint); } .flagged td[data-label="Age"] { white-space: nowrap; } .flagged td form { margin: 0; }
.keys { display: none; }
.scripted { display: none; }
@media (scripting: enabled) { .scripted { display: inline; } }
@media (scripting: enabled) and (hover: hover) and (min-width: 45rem) { .keys { display: block; } }
kbd { padding: 0 .35em; border: 1px solid var(--line); border-radius: 4px; background: var(--panel); font: 12px ui-monospace, monospace; }
.bulk > div:not(.buttons) { flex: 1 1 14rem; max-width: 22rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr)); gap: 1rem; margin-bottom: 1rem; }
.tiles .card { container-type: inline-size; min-width: 0; margin: 0; } .tiles h2 { font-size: 13px; color: var(--faint); }
.tiles .headline { font-size: clamp(16px, 8.5cqi, 26px); } .tiles .headline .long { font-size: clamp(11px, 5.8cqi, 26px); } .tiles .long small { font-size: .7em; }
.tiles .amount { white-space: normal; } .tiles .headline .amount { display: block; } .tiles .headline .comma { display: none; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem; align-items: start; }
.bar { display: block; width: 100%; min-width: 6rem; height: .5rem; border-radius: 1em; background: var(--calm-ground); fill: var(--accent); margin-top: .2rem; }
rect.warn { fill: var(--warn-bar); }
td .bar { min-width: 7rem; margin-top: .45rem; }
dd .pill { white-space: normal; }
.scrolls + .timeline { margin-top: 1rem; }
.facts div:has(.wide) { grid-column: span 2; }
`;

/** An arrow on a coin. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#4338ca"/><path d="M8 16h14m-6-7 7 7-7 7" fill="none" stroke="#fff" stroke-width="3.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

/** Makes times local, ids copyable, rows sortable, and tables usable with single keys while they have the focus. */
export const SCRIPT = `'use strict';
const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const brief = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });
for (const one of document.querySelectorAll('time')) {
  one.title ||= one.textContent;
  one.textContent = ('brief' in one.dataset ? brief : 'exact' in one.dataset ? exact : local).format(new Date(one.dateTime));
}
for (const one of document.querySelectorAll('[data-copy]')) {
  const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' });
  button.setAttribute('aria-label', 'Copy ' + one.textContent);
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(one.textContent);
    button.textContent = 'Copied';
  });
  one.after(button);
}
const { compare } = new Intl.Collator('en', { numeric: true });
for (const table of document.querySelectorAll('.sorts')) {
  const [body] = table.tBodies;
  if (body.rows.length < 2) continue;
  for (const head of table.tHead.rows[0].cells) {
    const valueOf = ({ cells: { [head.cellIndex]: cell } }) =>
      cell.querySelector('time')?.dateTime ?? cell.querySelector('[data-sort]')?.dataset.sort ?? cell.textContent.replaceAll(',', '');
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'sort' });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const order = head.ariaSort === 'descending' ? 'ascending' : 'descending';
      for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', order);
      const sign = order === 'ascending' ? 1 : -1;
      body.append(...[...body.rows].sort((one, other) => sign * compare(valueOf(one), valueOf(other))));
    });
  }
}
addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, metaKey, altKey } = event;
  const keys = document.querySelector('#keys');
  const isTyping = target.matches('select, input:not([type=checkbox], [type=radio])');
  if (isTyping || ctrlKey || metaKey || altKey || !keys || keys.open) return;
  if (key === '/') {
    event.preventDefault();
    document.querySelector('[type=search]').select();
  }
  if (key === '?') keys.showModal();
  if (key === 'j' && !target.closest('.scrolls')) document.querySelector('.scrolls tbody th a')?.focus();
});
for (const form of document.querySelectorAll('.chooses')) {
  const boxes = [...form.querySelectorAll('[data-amount]')];
  if (boxes.length === 0) continue;
  const all = Object.assign(document.createElement('input'), { type: 'checkbox', ariaLabel: 'Choose all' });
  all.addEventListener('change', () => {
    for (const box of boxes) box.checked = all.checked;
  });
  form.querySelector('thead th').prepend(all);
  const show = () => {
    const sums = new Map();
    const chosen = boxes.filter((box) => box.checked);
    for (const { dataset: { amount, currency } } of chosen)
      sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(amount.replace('.', '')));
    const grouped = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2 });
    const texts = [...sums].map(([currency, sum]) => {
      const digits = String(sum).padStart(3, '0');
      return grouped.format(digits.slice(0, -2) + '.' + digits.slice(-2)) + ' ' + currency;
    });
    all.checked = chosen.length === boxes.length;
    all.indeterminate = !all.checked && chosen.length > 0;
    for (const button of form.querySelectorAll('[data-key]')) button.disabled = chosen.length === 0;
    form.querySelector('output').textContent = chosen.length + ' chosen' + (texts.length ? ': ' + texts.join(', ') : '');
  };
  form.addEventListener('change', show);
  // The browser restores choices after a step back.
  addEventListener('pageshow', show);
}
for (const table of document.querySelectorAll('.scrolls')) {
  table.addEventListener('keydown', (event) => {
    const links = [...table.querySelectorAll('tbody th a')];
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('select')) return;
    const row = event.target.closest('tr');
    const at = links.findIndex((link) => link.closest('tr') === row);
    if (event.key === 'j') links[Math.min(at + 1, links.length - 1)]?.focus();
    if (event.key === 'k') links[Math.max(at - 1, 0)]?.focus();
    if (event.key === 'x') row?.querySelector('input[type=checkbox]')?.click();
    if (event.key === 'a' || event.key === 'r')
      table.closest('form')?.querySelector('button[data-key=' + event.key + ']')?.focus();
  });
}
`;
