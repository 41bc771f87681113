/** The desk: its pages, forms and uploads, with and without a session. */
import type { Client } from '@temporalio/client';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { chance, pick, type Random, seededRandom } from '../../simulator/runtime.ts';
import type { ApiConfig } from '../../src/config/api-config.ts';
import { buildServer } from '../../src/starters/api/server.ts';
import { addressHeader, KEYS, NARROW, SECRETS, SETTINGS, standIn } from '../api-server.ts';
import { demand, type Edge, type Judge, type Verdict } from '../edge.ts';
import { type Answer, demandNoFailure, injected, type Request, seldom } from '../http.ts';
import { changedBytes, changes } from '../inputs/changes.ts';
import { randoms, shown } from '../inputs/documents.ts';
import { asLines } from '../inputs/lines.ts';
import { ODD_TEXTS } from '../inputs/odd.ts';
import { drawId, drawPayout, drawText } from '../inputs/valid.ts';
import { demandSendable } from '../sendable.ts';
import { type Done, standInClient, watched } from '../temporal.ts';

type Who = keyof typeof KEYS;

/** `nobody` has no session; `other form` sends the token of another session. */
type Visitor = Who | 'nobody' | 'other form';

interface Input {
  visitor: Visitor;
  route: string;
  query: string;
  fields: readonly (readonly [string, string])[];
  /** The uploaded file, or instead of a form arbitrary bytes. */
  bytes: Buffer;
  isForm: boolean;
  headers: Readonly<Record<string, string>>;
  address: number;
}

const PAGES = ['', '/payouts', '/payout', '/batches', '/batch', '/today'];
const MORE_PAGES = ['/receiving-account', '/sign-in', '/desk.css', '/no-such-page'];
const DECISIONS = ['approve', 'refuse', 'cancel', 'resolve', 'poll'] as const;
const FORMS = [
  ...DECISIONS.map((verb) => `/payouts/${verb}`),
  ...['/receiving-account/resolve', '/batches/cancel', '/batches/start', '/sign-in', '/sign-out'],
];
const UPLOAD = '/batches/preview';
const ROUTES = [
  ...[...PAGES, ...MORE_PAGES].map((path) => `GET ${path}`),
  ...FORMS.map((path) => `POST ${path}`),
  ...[`POST ${UPLOAD}`, `POST ${UPLOAD}`, `POST ${UPLOAD}`],
];
const NAMES = [
  ...['app', 'partnerOrderId', 'requestId', 'batchId', 'note', 'reason', 'lockRateId', 'decision', 'orderId'],
  ...['sends', 'reviewedOrderIds', 'noneIsOurs', 'accountId', 'candidates', 'key', 'next', 'from', 'live'],
  ...['upload', 'cursor', 'phase', 'outcome', 'attention', 'createdFrom', 'createdTo', 'limit', 'idApp'],
];
/** Text that becomes markup where a page does not escape it. */
const MARKUP = '"><fuzz-mark a=\'b" fuzz-mark="';
const UNESCAPED = ['<fuzz-mark', '" fuzz-mark="'];
const HOST = 'localhost';
const ORIGIN = `http://${HOST}`;
const COOKIE = 'payouts_desk';
const BOUNDARY = 'fuzz-boundary';
const ODD_HEADERS: readonly Record<string, string>[] = [
  { origin: 'null' },
  { origin: 'https://evil.example' },
  { 'sec-fetch-site': 'cross-site' },
  { 'content-type': 'application/json' },
  { 'content-type': 'multipart/form-data' },
  { 'content-type': 'application/x-www-form-urlencoded;charset=utf-16' },
  { cookie: 'payouts_desk=%; __proto__=y' },
  { cookie: `payouts_desk=${'A'.repeat(200)}%3B${'A'.repeat(32)}` },
  { 'x-forwarded-user': 'all' },
  { 'content-encoding': 'gzip' },
  { host: '' },
];

const VISITORS: readonly Visitor[] = ['narrow', 'starter', 'nobody', 'other form'];

/** `build` constructs the server; a test passes one with a planted fault. */
export function deskEdge(
  build: (client: Client, config: ApiConfig) => Promise<FastifyInstance>,
): Edge<Input> {
  return {
    name: 'desk',
    inputs: fc
      .record({
        route: fc.constantFrom(...ROUTES),
        visitor: seldom<Visitor>('all', VISITORS),
        seed: randoms,
        odd: fc.option(fc.nat(997), { freq: 3, nil: undefined }),
        spelt: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, changes(2)),
        headers: seldom<Record<string, string>>({}, ODD_HEADERS),
        isForm: seldom(true, [false]),
      })
      .map(({ route, visitor, seed, odd, spelt, headers, isForm }): Input => {
        const random = seededRandom(seed);
        const fields = drawFields(random, odd);
        // A page may lead back to its own address, with its query.
        const asked = fields.filter(([name]) => name !== 'key');
        const query = chance(random, 0.8) ? paramsOf(asked).toString() : '';
        return {
          ...{ route, visitor, headers, fields, isForm, address: seed },
          query: query + (odd !== undefined && odd % 11 === 0 ? '&%=%zz&app=x' : ''),
          bytes: changedBytes(drawFile(random), spelt),
        };
      }),
    open: () => open(build),
    show: ({ visitor, route, query, fields, bytes, headers }) =>
      `${visitor}: ${route} ${query.slice(0, 300)} ${JSON.stringify(fields).slice(0, 600)} ${JSON.stringify(headers).slice(0, 200)} ${route.endsWith(UPLOAD) ? shown(bytes) : ''}`,
  };
}

export const desk = deskEdge(buildServer);

function drawFields(random: Random, odd: number | undefined): [string, string][] {
  const known: [string, string][] = [
    ['app', 'default'],
    ['partnerOrderId', drawId(random)],
    ['requestId', drawId(random)],
    ['batchId', drawId(random)],
  ];
  const decided: [string, string][] = [
    ['decision', pick(random, ['created', 'end', 'retry'])],
    ['orderId', drawText(random, 64)],
    ['sends', pick(random, ['0', '1', '2'])],
    ['reviewedOrderIds', pick(random, ['["O-1"]', '[]', '{', '"x"'])],
    ['noneIsOurs', 'yes'],
    ['accountId', drawId(random)],
    ['note', drawText(random, 200)],
    ['lockRateId', drawText(random, 64)],
    ['from', pick(random, ['inbox', 'story'])],
    ['key', pick(random, ['key-of-a-stranger', ...Object.values(KEYS)])],
    [
      'next',
      pick(random, [
        '/desk/payouts?phase=DONE',
        '//evil.example/desk',
        'https://evil.example',
        '/desk/../v1',
      ]),
    ],
  ];
  const fields = [...known, ...decided.filter(() => chance(random, 0.7))];
  if (odd === undefined) return fields;
  const name = NAMES[odd % NAMES.length] ?? 'app';
  const others = odd % 7 === 0 ? fields : fields.filter(([other]) => other !== name);
  const text = odd % 3 === 0 ? MARKUP : oddText(odd);
  return [...others, [odd % 13 === 0 ? text : name, text]];
}

function oddText(odd: number): string {
  const text: unknown = JSON.parse(ODD_TEXTS[odd % ODD_TEXTS.length] ?? '""');
  return typeof text === 'string' ? text : '';
}

function drawFile(random: Random): Buffer {
  const rows = [0, 1, 2].map(() => drawPayout(random, 'default'));
  if (chance(random, 0.5)) return asLines(Buffer.from(JSON.stringify({ payouts: rows })));
  const flat = rows.map((row) => new Map(leavesOf(row)));
  const columns = [...new Set(flat.flatMap((row) => [...row.keys()]))];
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const lines = flat.map((row) => columns.map((name) => quoted(row.get(name) ?? '')).join(','));
  return Buffer.from([columns.join(','), ...lines].join('\r\n'));
}

function leavesOf(value: object, path = ''): [string, string][] {
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return fields.flatMap(([name, inner]: [string, unknown]): [string, string][] =>
    typeof inner === 'object' && inner !== null
      ? leavesOf(inner, `${path}${name}.`)
      : [[`${path}${name}`, String(inner)]],
  );
}

interface Session {
  cookie: string;
  formToken: string;
}

async function open(
  build: (client: Client, config: ApiConfig) => Promise<FastifyInstance>,
): Promise<Judge<Input>> {
  const server = await build(standInClient(standIn()), SETTINGS);
  await server.ready();
  const sessions = new Sessions(server);
  await sessions.open();
  return {
    judge: async (input) => {
      const verdict = await judgedRequest(server, input, requestOf(input, sessions.of(input)));
      // A sign-out ends the session.
      await sessions.open();
      return verdict;
    },
    settle: () => new Promise((resolve) => setTimeout(resolve, 1_500)),
    close: async () => {
      await server.close();
    },
  };
}

const SIGNED_IN = ['all', 'narrow', 'starter'] as const;

/** What the browsers of the visitors have. */
class Sessions {
  private readonly server: FastifyInstance;
  private readonly sessions = new Map<Visitor, Session>();

  constructor(server: FastifyInstance) {
    this.server = server;
  }

  /** Signs in those who have no session. */
  async open(): Promise<void> {
    for (const who of SIGNED_IN)
      if (!this.sessions.has(who)) this.sessions.set(who, await signedIn(this.server, KEYS[who]));
    if (!this.sessions.has('nobody'))
      this.sessions.set('nobody', await visit(this.server, '/desk/sign-in', ''));
  }

  /** What the input sends. */
  of({ visitor, route }: Input): Session {
    if (route === 'POST /sign-in') return this.sessionOf('nobody');
    const isOther = visitor === 'other form';
    const holder = isOther ? 'all' : visitor;
    const { cookie } = this.sessionOf(holder);
    const { formToken } = this.sessionOf(isOther ? 'starter' : visitor);
    if (route === 'POST /sign-out' && holder !== 'nobody') this.sessions.delete(holder);
    return { cookie, formToken };
  }

  private sessionOf(visitor: Visitor): Session {
    return this.sessions.get(visitor) ?? { cookie: '', formToken: '' };
  }
}

/** Sends the request and follows its redirect; after an upload, also starts the batch that the preview offers. */
async function judgedRequest(server: FastifyInstance, input: Input, request: Request): Promise<Verdict> {
  const { answer, did } = await watched(() => injected(server, request));
  const verdict = judged(input, answer, did);
  const { 'content-type': _type, ...headers } = request.headers;
  if (answer.location !== undefined) {
    const page = { method: 'GET', url: answer.location, headers };
    const shown = await watched(() => injected(server, page));
    judged({ ...input, route: `GET ${answer.location}` }, shown.answer, shown.did);
  }
  const [, offered] = answer.text.split('action="/desk/batches/start"');
  if (offered === undefined) return verdict;
  const hidden = offered.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  const form = new URLSearchParams(
    [...hidden].map(([, name = '', value = '']): [string, string] => [name, value]),
  );
  const start = {
    ...{ method: 'POST', url: '/desk/batches/start', body: Buffer.from(form.toString()) },
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
  };
  const started = await watched(() => injected(server, start));
  return judged({ ...input, route: 'POST /batches/start' }, started.answer, started.did);
}

async function signedIn(server: FastifyInstance, key: string): Promise<Session> {
  const { cookie, formToken } = await visit(server, '/desk/sign-in', '');
  const form = new URLSearchParams({ formToken, key }).toString();
  const answer = await server.inject({
    ...{ method: 'POST', url: '/desk/sign-in', payload: form },
    headers: { host: HOST, origin: ORIGIN, cookie, 'content-type': 'application/x-www-form-urlencoded' },
  });
  const session = answer.cookies.find(({ name }) => name === COOKIE);
  demand(session !== undefined, `a caller cannot sign in: ${answer.statusCode}`);
  return visit(server, '/desk/receiving-account', cookieOf(session));
}

/** The cookie and the form token that a browser has after it has opened a page. */
async function visit(server: FastifyInstance, url: string, cookie: string): Promise<Session> {
  const answer = await server.inject({ method: 'GET', url, headers: { host: HOST, cookie } });
  const set = answer.cookies.find(({ name }) => name === COOKIE);
  return { cookie: set ? cookieOf(set) : cookie, formToken: tokenIn(answer.body) };
}

function cookieOf({ value }: { value: string }): string {
  return `${COOKIE}=${encodeURIComponent(value)}`;
}

function tokenIn(page: string): string {
  return /name="formToken" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

function requestOf(
  { route, query, fields, bytes, headers, isForm, address }: Input,
  session: Session,
): Request {
  const [method = 'GET', path = ''] = route.split(' ');
  const url = `/desk${path}${query === '' ? '' : `?${query}`}`;
  const shared = {
    host: 'localhost',
    origin: 'http://localhost',
    cookie: session.cookie,
    ...addressHeader(address),
  };
  if (method === 'GET') return { method, url, headers: { ...shared, ...headers } };
  const own: readonly (readonly [string, string])[] = [['formToken', session.formToken], ...fields];
  const body = !isForm
    ? bytes
    : path === UPLOAD
      ? multipart(own, bytes)
      : Buffer.from(paramsOf(own).toString());
  const type =
    path === UPLOAD ? `multipart/form-data; boundary=${BOUNDARY}` : 'application/x-www-form-urlencoded';
  return { method, url, headers: { ...shared, 'content-type': type, ...headers }, body };
}

function paramsOf(fields: readonly (readonly [string, string])[]): URLSearchParams {
  const params = new URLSearchParams();
  for (const [name, text] of fields) params.append(name, text);
  return params;
}

function multipart(fields: readonly (readonly [string, string])[], file: Buffer): Buffer {
  const part = (head: string, content: Buffer) =>
    Buffer.concat([
      Buffer.from(`--${BOUNDARY}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`),
      content,
      Buffer.from('\r\n'),
    ]);
  const named = fields.filter(([name]) => ['formToken', 'app', 'batchId'].includes(name));
  return Buffer.concat([
    ...named.map(([name, text]) => part(`name="${name}"`, Buffer.from(text))),
    part('name="file"; filename="payouts<fuzz-mark>.csv"', file),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);
}

const OWN_SCRIPT = '<script src="/desk/desk.js" defer></script>';

function judged(input: Input, answer: Answer, did: Done): Verdict {
  demandNoFailure(answer, SECRETS);
  for (const text of UNESCAPED)
    demand(!answer.text.includes(text), 'a page contains text of a visitor as markup');
  const markup = answer.text.replace(OWN_SCRIPT, '').replaceAll(/"[^"]*"/g, '""');
  demand(!/<script|\son\w+=/i.test(markup), 'a page contains a script');
  const { location } = answer;
  demand(location === undefined || /^\/desk(?:[/?]|$)/.test(location), `leads to ${location}`);
  const isDone = answer.status < 400;
  const acted = did.starts.filter(({ type }) => type === 'payoutBatch').length + did.updates.length;
  if (acted > 0) demandPermission(input, did);
  // A page may query the states of existing workflows, and nothing else.
  if (input.route.startsWith('GET ')) demand(acted === 0, `a page sent ${did.updates[0]?.name ?? 'a start'}`);
  demand(isDone || acted === 0, `answered ${answer.status} and acted`);
  return isDone ? 'accepted' : 'refused';
}

function demandPermission({ visitor, route, headers }: Input, did: Done): void {
  demand(visitor !== 'nobody', 'acted for a visitor without a session');
  demand(visitor !== 'other form', 'acted on a form of another session');
  const [, verb = 'batch'] = /(approve|refuse|cancel|resolve|poll)$/.exec(route) ?? [];
  demand(visitor !== 'narrow' || NARROW.some((one) => one === verb), 'acted for a key without permission');
  const { origin = ORIGIN, 'sec-fetch-site': site = 'same-origin' } = headers;
  demand(origin === ORIGIN && site === 'same-origin', 'acted on a form of another site');
  for (const { type, argument } of did.starts) if (type === 'payout') demandSendable(argument);
}
