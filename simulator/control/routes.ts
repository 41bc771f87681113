/** The control API over HTTP, under `/_sim`, and the status page. They are not part of the provider's API and not counted. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isSafeNumber, LosslessNumber, parse } from 'lossless-json';
import { z } from 'zod';
import { escapeHtml, page, table } from '../http/authorization-page.ts';
import { Refusal } from '../http/envelope.ts';
import { moneyText } from '../money.ts';
import { ScenarioError } from '../orders/scenario.ts';
import { type Control, NotFoundError } from './control.ts';
import { scenarioSchema } from './schemas.ts';

/** Verbs parse their own arguments. */
type Verb = (control: Control, argument: Argument) => unknown;

interface Argument {
  id: string;
  query: unknown;
  /** Parsed JSON, as the verbs' own schemas expect it. */
  body: unknown;
}

type Route = readonly [method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, verb: Verb];

const ROUTES: readonly Route[] = [
  ['GET', '/ledger', (control) => control.ledger()],
  ['GET', '/ledger/:id', (control, { id }) => control.ledgerOf(id)],
  ['GET', '/calls', (control, { query }) => control.calls(query)],
  ['GET', '/counts', (control) => control.counts()],
  ['GET', '/settings', (control) => control.settings()],
  ['PUT', '/settings', (control, { body }) => control.changeSettings(body)],
  ['PUT', '/apps/:id', (control, { id, body }) => control.changeApp(id, body)],
  [
    'PUT',
    '/scenarios/:id',
    (control, { id, body }) => control.setScenario(id, scenarioSchema.parse(body).scenario),
  ],
  ['PUT', '/accounts/:id', (control, { id, body }) => control.setAccounts(id, body)],
  ['GET', '/faults', (control) => control.faults()],
  ['POST', '/faults', (control, { body }) => control.addFault(body)],
  ['DELETE', '/faults', (control) => control.removeFaults()],
  ['DELETE', '/faults/:id', (control, { id }) => control.removeFault(id)],
  ['POST', '/faults/:id/release', (control, { id }) => control.releaseFault(id)],
  ['POST', '/notify', (control, { body }) => control.notify(body)],
  ['POST', '/orders', (control, { body }) => control.plantOrder(body)],
  ['POST', '/orders/:id', (control, { id, body }) => control.changeOrder(id, body)],
  ['POST', '/authorize', (control, { body }) => control.authorize(body)],
  ['POST', '/tokens/expire', (control, { body }) => control.expireTokens(body ?? {})],
  ['POST', '/reset', (control) => control.reset()],
];

export function addControlRoutes(server: FastifyInstance, control: Control): void {
  for (const [method, path, verb] of ROUTES)
    server.route({
      method,
      url: `/_sim${path}`,
      handler: async (request, reply) => answer(request, reply, control, verb),
    });
  server.get('/_sim', async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(statusPage(control)),
  );
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  control: Control,
  verb: Verb,
): Promise<FastifyReply> {
  try {
    const { id } = z.object({ id: z.string().default('') }).parse(request.params);
    const result = await verb(control, { id, query: request.query, body: bodyOf(request) });
    return reply.send(result ?? { ok: true });
  } catch (error) {
    if (error instanceof NotFoundError) return reply.code(404).send({ error: error.message });
    if (error instanceof z.ZodError) return reply.code(400).send({ error: z.prettifyError(error) });
    if (error instanceof Refusal) return reply.code(400).send({ error: error.message });
    if (error instanceof ScenarioError || error instanceof SyntaxError || error instanceof RangeError)
      return reply.code(400).send({ error: error.message });
    throw error;
  }
}

/** Numbers become `number`; only a number that a double cannot hold becomes a `LosslessNumber`. */
function bodyOf(request: FastifyRequest): unknown {
  if (typeof request.body !== 'string' || request.body === '') return undefined;
  return parse(request.body, null, (digits) =>
    isSafeNumber(digits) ? Number(digits) : new LosslessNumber(digits),
  );
}

const SHOWN_ORDERS = 200;

export function statusPage(control: Control): string {
  const { world } = control;
  const counts = control.counts();
  const figures: [string, string][] = [
    ['Calls in the last second', String(callsInLastSecond(control))],
    ['Calls in total', String(counts.calls)],
    [
      'Busiest second of one application',
      `${counts.maxCallsInAnySecond} (served ${counts.maxServedInAnySecond})`,
    ],
    ['Answered 429', String(counts.answered429)],
    ['Creates received', String(counts.creates)],
    ['Orders paid', String(counts.orders)],
    ['Paid twice', String(counts.paidTwice)],
    ['Notifications sent', String(counts.notifications)],
  ];
  const orders = [...world.orders.all()].slice(-SHOWN_ORDERS).reverse();
  const rows = orders.map((order) => [
    order.outOrderId ?? '',
    order.orderId,
    order.plan.name,
    order.status,
    order.auditStatus,
    moneyText(order.price.pay),
    moneyText(order.price.target),
    String(order.splits.length),
  ]);
  const faults = control
    .faults()
    .map((rule) => [rule.id, rule.operation, rule.kinds.join(', '), String(rule.hit), String(rule.held)]);
  const body = [
    table(['Figure', 'Value'], figures),
    section('Orders', rows, [
      'Partner order id',
      'Order',
      'Scenario',
      'Status',
      'Audit',
      'Pays',
      'Receives',
      'Splits',
    ]),
    section('Faults', faults, ['Rule', 'Operation', 'Kinds', 'Hit', 'Held']),
  ].join('\n');
  return page('Payments simulator', body, '<meta http-equiv="refresh" content="2">');
}

function section(title: string, rows: string[][], headings: string[]): string {
  return `<h2>${escapeHtml(title)}</h2>${rows.length === 0 ? '<p>None.</p>' : table(headings, rows)}`;
}

function callsInLastSecond({ world }: Control): number {
  const calls = world.ledger.calls.list();
  const sinceMs = world.clock.nowMs() - 1000;
  let count = 0;
  for (let index = calls.length - 1; index >= 0 && (calls[index]?.atMs ?? 0) > sinceMs; index -= 1)
    count += 1;
  return count;
}
