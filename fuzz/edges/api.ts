/** The API server's other routes, with and without permission. */

import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@temporalio/client';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { chance, pick, type Random, seededRandom, whole } from '../../simulator/runtime.ts';
import type { ApiConfig } from '../../src/config/api-config.ts';
import { checkPayoutRequest } from '../../src/contract/payout-request.ts';
import { checkReceivingAccount } from '../../src/contract/receiving-account.ts';
import { openApiDocument } from '../../src/starters/api/openapi.ts';
import { buildServer } from '../../src/starters/api/server.ts';
import { addressHeader, KEYS, NARROW, SECRETS, SETTINGS, standIn } from '../api-server.ts';
import { demand, type Edge, type Judge, type Verdict } from '../edge.ts';
import { type Answer, asJson, demandNoFailure, injected, type Request, refusalOf, seldom } from '../http.ts';
import { documents, randoms, shown } from '../inputs/documents.ts';
import { asLines } from '../inputs/lines.ts';
import { ODD_TEXTS } from '../inputs/odd.ts';
import { drawId, drawOpening, drawPayout, drawText } from '../inputs/valid.ts';
import { demandSendable } from '../sendable.ts';
import { type Done, standInClient, watched } from '../temporal.ts';

type Who = keyof typeof KEYS | 'nobody' | 'stranger' | 'garbled';

interface Input {
  who: Who;
  route: string;
  request: Request;
}

const client = standInClient(standIn());
const document = await documented();
const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => ({ method: method.toUpperCase(), path, ...one })),
);
/** Those that require a key. */
const operations = listed.filter(({ path, security }) => path.startsWith('/v1/') && security !== undefined);
type Operation = (typeof operations)[number];
/** Notifications have their own edge. */
const ROUTES = listed
  .filter(({ path }) => !path.startsWith('/v1/notifications'))
  .map(({ method, path }) => `${method} ${path}`);
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(JSON.parse(JSON.stringify(document)), 'document');

async function documented() {
  const server = await buildServer(client, SETTINGS);
  await server.ready();
  const made = openApiDocument(server);
  await server.close();
  return made;
}

const NDJSON = 'application/x-ndjson';
const TYPES = [
  NDJSON,
  'application/json;charset=latin1',
  'text/plain',
  '',
  'application/problem+json',
  'multipart/form-data',
  'application/json, application/json',
  'x'.repeat(3_000),
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'];
const WHOS: readonly Who[] = ['narrow', 'starter', 'nobody', 'stranger', 'garbled'];
const ODD_HEADERS = [
  { authorization: 'Bearer' },
  { 'content-encoding': 'gzip' },
  { cookie: 'payouts_oauth=%; payouts_oauth=x; __proto__=y' },
  { 'transfer-encoding': 'x' },
  { 'content-length': '-1' },
  { expect: '100-continue' },
  { origin: 'null' },
  { 'accept-version': '9' },
  { host: '' },
  { 'x-http-method-override': 'DELETE' },
];

const about = fc.record({
  route: fc.constantFrom(...ROUTES),
  who: seldom<Who>('all', WHOS),
  method: seldom<string | undefined>(undefined, METHODS),
  type: seldom('application/json', TYPES),
  headers: seldom<Record<string, string>>({}, ODD_HEADERS),
  address: randoms,
  odd: fc.option(fc.nat(997), { freq: 4, nil: undefined }),
});

/** `build` constructs the server; a test passes one with a planted fault. */
export function apiEdge(build: (client: Client, config: ApiConfig) => Promise<FastifyInstance>): Edge<Input> {
  return {
    name: 'api',
    inputs: documents((random, { route }) => drawBody(random, route), about).map(({ about: how, bytes }) => {
      const [method = 'GET', path = '/'] = how.route.split(' ');
      const authorization = authorizationOf(how.who);
      const headers = {
        ...(how.type !== '' && method === 'POST' && { 'content-type': how.type }),
        ...(authorization !== undefined && { authorization }),
        ...addressHeader(how.address),
        ...how.headers,
      };
      const url = drawAddress(how.address, path, how.odd);
      // Rare, because routes reject every GET with a body.
      const hasBody = method === 'POST' || (how.odd ?? 1) % 16 === 0;
      const isLines = how.type === NDJSON && path.endsWith('/payout-batches');
      const content = {
        url: isLines ? `${path}?batchId=b-${how.address}` : url,
        body: isLines ? asLines(bytes) : bytes,
      };
      const request = {
        method: how.method ?? method,
        headers,
        url: content.url,
        ...(hasBody && { body: content.body }),
      };
      return { who: 'authorization' in how.headers ? 'nobody' : how.who, route: how.route, request };
    }),
    open: () => open(build),
    show: ({ who, request: { method, url, headers, body } }) =>
      `${who}: ${method} ${url.slice(0, 300)} ${JSON.stringify({ ...headers, authorization: undefined }).slice(0, 200)} ${body ? shown(body) : 'no body'}`,
  };
}

export const api = apiEdge(buildServer);

function authorizationOf(who: Who): string | undefined {
  if (who === 'nobody') return undefined;
  if (who === 'stranger') return 'Bearer key-of-a-stranger';
  return who === 'garbled' ? `bearer\t${KEYS.all} ${KEYS.all}` : `Bearer ${KEYS[who]}`;
}

function drawAddress(seed: number, path: string, odd: number | undefined): string {
  const random = seededRandom(seed);
  const part = (name: string) => {
    if (odd !== undefined && odd % 5 === 0) return oddPart(odd);
    return encodeURIComponent(name === 'currency' ? 'USD' : name === 'app' ? 'default' : drawId(random));
  };
  const query = new URLSearchParams();
  if (path.endsWith('/accounts')) query.set('clientId', drawId(random));
  if (chance(random, 0.2) && path.includes('{') && !path.includes('oauth')) query.set('app', 'default');
  if (path.endsWith('callback')) query.set('state', drawText(random, 64));
  if (chance(random, 0.5) && path.endsWith('callback')) query.set('code', drawText(random, 64));
  if (odd !== undefined && odd % 5 === 1)
    query.append(pick(random, ['app', 'x', '__proto__', 'wait', 'state', 'clientId']), oddText(odd));
  const text = query.toString();
  const tail = odd !== undefined && odd % 5 === 2 ? `${text}&app=${oddPart(odd)}&app=x&[]&=&%` : text;
  return path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => part(name)) + (tail === '' ? '' : `?${tail}`);
}

function oddText(odd: number): string {
  const text: unknown = JSON.parse(ODD_TEXTS[odd % ODD_TEXTS.length] ?? '""');
  return typeof text === 'string' ? text : '';
}

function oddPart(odd: number): string {
  const text = oddText(odd);
  if (odd % 3 === 0)
    return ['%', '%zz', '%ff', '%ed%a0%80', '%00', `${'a'.repeat(1_100)}`, '..;', '%2f'][odd % 8] ?? '%';
  return encodeURIComponent(text.replaceAll(/\p{Cs}/gu, '?'));
}

function drawBody(random: Random, route: string): unknown {
  if (route.endsWith('/v1/payouts') || route.endsWith('/v1/quotes')) return drawPayout(random);
  if (route.endsWith('/v1/receiving-accounts')) return drawOpening(random);
  if (route.endsWith('/v1/payout-batches')) return drawBatch(random);
  if (route.endsWith('/approve') || route.endsWith('/refuse'))
    return {
      note: drawText(random, 256),
      ...(chance(random, 0.5) && { lockRateId: drawText(random, 128) }),
    };
  if (route.endsWith('/cancel')) return { reason: drawText(random, 256) };
  return route.endsWith('/resolve') ? drawResolution(random, route) : {};
}

function drawResolution(random: Random, route: string): unknown {
  if (chance(random, 0.5))
    return {
      created: true,
      ...(route.includes('receiving-accounts')
        ? { accountId: drawId(random) }
        : { orderId: drawText(random, 128) }),
    };
  const then = pick(random, ['end', 'retry']);
  return {
    ...{ created: false, then },
    ...(chance(random, 0.5) && { sends: whole(random, 0, 3) }),
    ...(chance(random, 0.5) && { reviewedOrderIds: [drawText(random, 128)] }),
  };
}

function drawBatch(random: Random): unknown {
  const payouts = Array.from({ length: whole(random, 1, 3) }, () => drawPayout(random, 'default'));
  return { batchId: drawId(random), payouts };
}

async function open(
  build: (client: Client, config: ApiConfig) => Promise<FastifyInstance>,
): Promise<Judge<Input>> {
  const server = await build(client, SETTINGS);
  await server.ready();
  return {
    judge: async (input) => {
      const { answer, did } = await watched(() => injected(server, input.request));
      return judged(input, answer, did);
    },
    settle: () => new Promise((resolve) => setTimeout(resolve, 1_500)),
    close: async () => {
      await server.close();
    },
  };
}

function judged(input: Input, answer: Answer, did: Done): Verdict {
  const { request, who } = input;
  // Authorizations are limited.
  const isLimited = /\/oauth\/|authorizations/.test(input.route) && did.starts.length === 0;
  const isBusy = answer.status === 503 && isLimited;
  if (!isBusy) demandNoFailure(answer, SECRETS);
  if (answer.status < 400) {
    demandAccepted(input, answer, did);
    return 'accepted';
  }
  demand(did.starts.length === 0, `answered ${answer.status} and started a ${did.starts[0]?.type}`);
  demand(did.updates.length === 0, `answered ${answer.status} and sent an update`);
  if (request.method === 'HEAD' || answer.type.startsWith('text/html')) return 'refused';
  const { type, errors = [] } = refusalOf(answer);
  demand(type !== '/problems/invalid-request' || errors.length > 0, 'names no bad field');
  const operation = operations.find(({ method, path }) => `${method} ${path}` === input.route);
  const takesFields = operation?.requestBody?.required === true;
  // The name of an unknown field may be empty.
  for (const { path, message } of errors)
    demand(
      path !== '' || message === 'is not a field' || !takesFields || !isObject(request.body),
      'a bad field has no name',
    );
  if (who === 'stranger' || who === 'nobody')
    demand(
      [401, 404, 400, 414, 415, 413].includes(answer.status) || (answer.status === 429 && isLimited),
      `answered ${answer.status} to an unknown caller`,
    );
  return 'refused';
}

function isObject(body: Buffer | undefined): boolean {
  const read = asJson(body?.toString('utf8') ?? '');
  return typeof read === 'object' && read !== null && !Array.isArray(read);
}

function demandAccepted({ who, route, request }: Input, answer: Answer, did: Done): void {
  const operation = operations.find(({ method, path }) => `${method} ${path}` === route);
  if (!operation || request.method !== operation.method) return;
  demand(who !== 'nobody' && who !== 'stranger' && who !== 'garbled', 'served an unknown caller');
  demand(
    who !== 'narrow' || NARROW.some((verb) => operation.description?.includes(`\`${verb}\``)),
    'served a key without permission',
  );
  demandAnswer(operation, answer);
  const body = asJson(request.body?.toString('utf8').replace(/^\ufeff/, '') ?? '');
  for (const { type, workflowId, argument } of did.starts) {
    if (type === 'payout' || type === 'payoutQuote') demandSame(checkPayoutRequest, body, argument, who);
    if (type === 'payout' || type === 'payoutQuote') demandSendable(argument);
    if (type === 'openReceivingAccount') demandSame(checkReceivingAccount, body, argument, who);
    demand(workflowId !== '', 'a workflow without an id');
    demandOwnId(type, workflowId);
  }
}

/** Their workflow ids end with an id that the caller chose. */
const NAMED_BY_CALLER: ReadonlySet<string> = new Set(['payout', 'payoutBatch', 'openReceivingAccount']);

function demandOwnId(type: string, workflowId: string): void {
  if (NAMED_BY_CALLER.has(type))
    demand(/^[ -~]+$/.test(workflowId), 'a workflow whose id may look like another one');
}

function demandAnswer({ method, path, responses }: Operation, { status, text }: Answer): void {
  const [expected = ''] = Object.keys(responses);
  demand(String(status) === expected, `answered ${status} instead of ${expected}`);
  const steps = [
    'paths',
    path,
    method.toLowerCase(),
    'responses',
    expected,
    'content',
    'application/json',
    'schema',
  ];
  const pointer = steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')));
  const validate = ajv.getSchema(`document#/${pointer.join('/')}`);
  demand(
    validate?.(asJson(text)) === true,
    `the answer does not match its schema: ${ajv.errorsText(validate?.errors)}`,
  );
}

/** The workflow gets exactly what was sent, and validating it again gives the same. */
function demandSame(
  check: (body: unknown) => { ok: true; value: unknown } | { ok: false },
  body: unknown,
  argument: unknown,
  who: Who,
): void {
  const sent = check(body);
  demand(sent.ok, 'started what its schema rejects');
  const plain: unknown = JSON.parse(JSON.stringify(sent.value));
  demand(isDeepStrictEqual(plain, argument), `started something other than ${who} sent`);
  const again = check(argument);
  demand(
    again.ok && isDeepStrictEqual(JSON.parse(JSON.stringify(again.value)), argument),
    'changes when it is validated again',
  );
}
