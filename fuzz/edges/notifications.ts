/** The notification receiver, which anyone can call. */
import { createHmac } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { apiConfig } from '../../src/config/api-config.ts';
import { NotificationFormatError, parseNotification } from '../../src/payments/notification.ts';
import { buildServer } from '../../src/starters/api/server.ts';
import { addressHeader } from '../api-server.ts';
import { demand, type Edge, type Judge, type Verdict } from '../edge.ts';
import {
  type Answer,
  asJson,
  demandNoFailure,
  injected,
  overSocket,
  type Request,
  refusalOf,
  seldom,
} from '../http.ts';
import { documents, randoms, shown } from '../inputs/documents.ts';
import { drawNotification } from '../inputs/valid.ts';
import { type Done, type StandIn, standInClient, watched } from '../temporal.ts';

interface Input {
  request: Request;
  /** One in this many goes through a socket, with its own connection. */
  socket: boolean;
  /** To the receiver that verifies signatures. */
  strict: boolean;
  body: Buffer;
}

const SECRET = 'fuzz-notification-secret';
const APPS = ['other-app', 'DEFAULT', '', 'a'.repeat(33), '%2e%2e', '%00', '%ff', '__proto__', 'x%2Fy', '%'];
const TYPES = [
  'application/json; charset=utf-16',
  'text/plain',
  '',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  '*/*',
  ';;;',
  'application/json, text/html',
  'x'.repeat(5_000),
  'application/JSON\t;',
];
const METHODS = ['GET', 'PUT', 'HEAD', 'OPTIONS', 'DELETE'];
const SIGNED = ['right', 'other body', 'none', 'stale', 'garbled', 'many', 'half'] as const;
const QUERIES = ['?', '?a=b', '?__proto__=x', '?%', `?${'a=1&'.repeat(1_100)}`, '#x', ';x'];

const about = fc.record({
  // Different for each input: a payout is signaled at most once a second.
  app: fc.oneof(
    { weight: 9, arbitrary: randoms.map((number) => `app-${number.toString(36)}`) },
    { weight: 1, arbitrary: fc.constantFrom(...APPS) },
  ),
  type: seldom('application/json', TYPES),
  method: seldom('POST', METHODS),
  query: seldom('', QUERIES),
  signed: seldom<(typeof SIGNED)[number]>('right', SIGNED),
  strict: fc.boolean(),
  socket: seldom(false, [false, false, false, true]),
  address: randoms,
});

export const notifications: Edge<Input> = {
  name: 'notifications',
  inputs: documents(drawNotification, about).map(({ about: how, bytes }) => {
    const { app, type, method, query, signed, strict, socket, address } = how;
    const headers = {
      ...(type !== '' && { 'content-type': type }),
      ...(strict && signature(bytes, signed)),
      // Different for each input: the notifications of an address are limited.
      ...addressHeader(address),
    };
    const request = { method, url: `/v1/notifications/${app}${query}`, headers, body: bytes };
    return { request, socket, strict, body: bytes };
  }),
  open,
  show: ({ request, socket, strict }) =>
    `${strict ? 'verified, ' : ''}${socket ? 'socket, ' : ''}${request.method} ${request.url.slice(0, 100)} ${JSON.stringify(request.headers).slice(0, 300)} ${shown(request.body ?? Buffer.alloc(0))}`,
};

function signature(body: Buffer, how: (typeof SIGNED)[number]): Record<string, string> {
  if (how === 'none') return {};
  const seconds = Math.floor(Date.now() / 1_000) - (how === 'stale' ? 3_600 : 0);
  const signed = how === 'other body' ? Buffer.from('{}') : body;
  const mac = createHmac('sha256', SECRET).update(`id.${seconds}.`).update(signed).digest('base64');
  const signatures = {
    garbled: 'v1,%%% v2 v1, ,,,',
    many: `${'v1,AAAA '.repeat(500)}v1,${mac}`,
    half: `v1,${mac.slice(0, 20)}`,
  };
  const value = how === 'garbled' || how === 'many' || how === 'half' ? signatures[how] : `v1,${mac}`;
  return { 'webhook-id': 'id', 'webhook-timestamp': String(seconds), 'webhook-signature': value };
}

const TEST = {
  PAYOUTS_LOG_LEVEL: 'silent',
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'http://127.0.0.1:9',
  PAYOUTS_API_PROXIES: '127.0.0.1',
};

const STAND_IN: StandIn = { ends: {}, states: [], queries: {}, argumentOf: () => null };

async function open(): Promise<Judge<Input>> {
  const client = standInClient(STAND_IN);
  const plain = await buildServer(client, apiConfig(TEST));
  const strict = await buildServer(
    client,
    apiConfig({
      ...TEST,
      PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256',
      PAYMENTS_NOTIFICATION_SECRETS: `newer-secret,${SECRET}`,
    }),
  );
  const ports = new Map<typeof plain, number>();
  for (const server of [plain, strict]) {
    await server.listen({ host: '127.0.0.1', port: 0 });
    ports.set(server, portOf(server.server.address()));
  }
  return {
    judge: async (input) => {
      const server = input.strict ? strict : plain;
      const send = () =>
        input.socket ? overSocket(ports.get(server) ?? 0, input.request) : injected(server, input.request);
      const { answer, did } = await watched(send);
      return judged(input, answer, did);
    },
    // Longer than the receiver keeps a payout in memory.
    settle: () => new Promise((resolve) => setTimeout(resolve, 1_500)),
    close: async () => {
      await Promise.all([plain.close(), strict.close()]);
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  return address !== null && typeof address === 'object' ? address.port : 0;
}

function judged(input: Input, answer: Answer, did: Done): Verdict {
  demandNoFailure(answer, [SECRET, 'newer-secret']);
  demand(did.starts.length === 0, 'a notification started a workflow');
  demand(did.updates.length === 0, 'a notification updated a workflow');
  if (answer.status === 202) {
    demandPassedOn(input, answer, did);
    return 'accepted';
  }
  demand(did.signals.length === 0, `answered ${answer.status} and sent a signal`);
  demand(answer.status >= 400, `answered ${answer.status}`);
  // What Node's parser rejects reaches no route, and the answer to HEAD has no body.
  if (!input.socket && input.request.method !== 'HEAD') refusalOf(answer);
  return 'refused';
}

const PASSED_ON = ['receivedAt', 'orderId', 'partnerOrderId', 'status'];

function demandPassedOn({ body, strict, request }: Input, answer: Answer, did: Done): void {
  const notification = parsed(body);
  demand(notification !== undefined, 'accepted what its parser rejects');
  const received = asJson(answer.text);
  demand(
    typeof received === 'object' && received !== null && 'received' in received,
    'the answer does not state the result',
  );
  if (strict) demand('webhook-signature' in request.headers, 'accepted an unsigned notification');
  for (const { name, argument } of did.signals) {
    demand(name === 'notification', `sent the signal ${name}`);
    demand(typeof argument === 'object' && argument !== null, 'sent a signal without a notification');
    for (const [key, value] of Object.entries(argument)) {
      demand(PASSED_ON.includes(key), 'a signal contains more than ids and status');
      demand(typeof value === 'string' && value.length <= 64, 'a signal contains a long text');
    }
  }
}

function parsed(body: Buffer): unknown {
  try {
    return parseNotification(body);
  } catch (error) {
    demand(error instanceof NotificationFormatError, 'the parser threw another error');
    return undefined;
  }
}
