/** Client of the control API of a simulator that runs in another process. */
import { request } from 'undici';
import { z } from 'zod';
import { settingsSchema } from '../settings.ts';
import type { SimulatorControl } from './control.ts';
import * as answers from './schemas.ts';

export type SimulatorControlClient = {
  [Verb in keyof SimulatorControl]: (
    ...args: Parameters<SimulatorControl[Verb]>
  ) => Promise<Awaited<ReturnType<SimulatorControl[Verb]>>>;
};

type Method = 'GET' | 'PUT' | 'POST' | 'DELETE';

const done = z.unknown().transform(() => undefined);

export function simulatorControl(url: string): SimulatorControlClient {
  const base = `${url.replace(/\/$/, '')}/_sim`;
  const ask = <Schema extends z.ZodType>(method: Method, path: string, schema: Schema, body?: unknown) =>
    exchange(`${base}${path}`, method, schema, body);
  const id = encodeURIComponent;
  return {
    ledger: () => ask('GET', '/ledger', answers.ledger),
    ledgerOf: (partnerOrderId) => ask('GET', `/ledger/${id(partnerOrderId)}`, answers.ledgerOf),
    calls: (filter = {}) => ask('GET', `/calls?${queryText(filter)}`, z.array(answers.callRecord)),
    counts: () => ask('GET', '/counts', answers.counts),
    settings: () => ask('GET', '/settings', settingsSchema),
    changeSettings: (change) => ask('PUT', '/settings', settingsSchema, change),
    changeApp: (appId, change) => ask('PUT', `/apps/${id(appId)}`, done, change),
    setScenario: (number, scenario) => ask('PUT', `/scenarios/${id(number)}`, done, { scenario }),
    setAccounts: (clientId, accounts) => ask('PUT', `/accounts/${id(clientId)}`, done, accounts),
    addFault: (rule) => ask('POST', '/faults', z.object({ id: z.string() }), rule),
    faults: () => ask('GET', '/faults', z.array(answers.faultReport)),
    releaseFault: (fault) => ask('POST', `/faults/${id(fault)}/release`, z.object({ released: z.number() })),
    removeFault: (fault) => ask('DELETE', `/faults/${id(fault)}`, done),
    removeFaults: () => ask('DELETE', '/faults', done),
    notify: (notification) => ask('POST', '/notify', done, notification),
    changeOrder: (number, change) => ask('POST', `/orders/${id(number)}`, done, change),
    plantOrder: (order) => ask('POST', '/orders', z.object({ orderId: z.string() }), order),
    authorize: (grant) => ask('POST', '/authorize', z.object({ code: z.string() }), grant),
    expireTokens: (filter = {}) => ask('POST', '/tokens/expire', z.object({ expired: z.number() }), filter),
    reset: () => ask('POST', '/reset', done),
  };
}

async function exchange<Schema extends z.ZodType>(
  url: string,
  method: Method,
  schema: Schema,
  body: unknown,
): Promise<z.output<Schema>> {
  const answer = await request(url, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200)
    throw new Error(`simulator control ${method} ${url}: ${answer.statusCode} ${text}`);
  return schema.parse(JSON.parse(text));
}

function queryText(filter: { partnerOrderId?: string | undefined; operation?: string | undefined }): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(filter)) if (value !== undefined) query.set(key, value);
  return query.toString();
}
