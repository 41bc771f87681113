/** `/desk/events`: the endpoints that get events, and what to do when one has failed. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { ListedEndpoint } from '../client/events.ts';
import type { Outcome } from '../contract/events.ts';
import { isScoped } from '../domain/permissions.ts';
import { DAY_MS, HOUR_MS } from '../domain/time.ts';
import { may } from '../service/permissions.ts';
import { endpointRef, valid } from '../service/requests.ts';
import { appsOf, type Desk, filledIn, getPage, idIn, postForm, redirectWith } from './context.ts';
import { attentionReasons, empty, type Html, hidden, html, label, pill, table, time } from './html.ts';
import type { Visit } from './identity.ts';
import { type Resend, Resends } from './resends.ts';

/** How far back events are sent again. */
const SPANS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS } as const;
const NAMES = ['hour', 'day', 'week'] as const;
const span = z.object({ span: z.enum(NAMES) });

export function eventRoutes(scope: FastifyInstance, desk: Desk): void {
  const { service, runtime } = desk;
  const resends = new Resends(runtime.clock);
  getPage(scope, desk, '/events', async (visit) => {
    const frame = { title: 'Events', section: 'Events' } as const;
    const { caller } = visit;
    if (isScoped(caller))
      return {
        ...frame,
        content: empty('No endpoints', 'Your key is limited: endpoints get the events of everybody.'),
      };
    const lists = await Promise.all(appsOf(visit).map((app) => service.endpoints(caller, app)));
    return { ...frame, content: listOf(visit, lists.flat(), resends) };
  });

  postForm(scope, desk, { path: '/events/test', verb: 'events' }, async ({ caller }, fields, reply) => {
    const ref = idIn(endpointRef, fields);
    const outcome = await service.testEndpoint(caller, ref);
    const isDelivered = outcome.kind === 'delivered';
    return redirectWith(reply, '/desk/events', {
      done: isDelivered ? 'test' : 'test-failed',
      id: `${ref.endpoint}: ${isDelivered ? 'delivered' : whyNot(outcome)}`,
      isBad: !isDelivered,
    });
  });
  postForm(scope, desk, { path: '/events/enable', verb: 'events' }, async ({ caller }, fields, reply) => {
    const ref = idIn(endpointRef, fields);
    await service.enableEndpoint(caller, ref);
    return redirectWith(reply, '/desk/events', { done: 'enable', id: ref.endpoint });
  });
  postForm(scope, desk, { path: '/events/resend', verb: 'events' }, async ({ caller }, fields, reply) => {
    const ref = idIn(endpointRef, fields);
    const { span: name } = valid(span, filledIn(fields, 'span'));
    const since = new Date(runtime.clock.wallMs() - SPANS[name]).toISOString();
    const resend = await resends.begin(keyOf(ref), () => service.resendEvents(caller, ref, since));
    return redirectWith(
      reply,
      '/desk/events',
      resend.kind === 'sent'
        ? { done: 'resend', id: `to ${ref.endpoint}: ${resend.events} events` }
        : { done: 'resending', id: `${ref.endpoint}: reload this page to see how it goes` },
    );
  });
}

const keyOf = ({ app, endpoint }: { app: string; endpoint: string }) => `${app}/${endpoint}`;

function whyNot(outcome: Outcome): string {
  if ('reason' in outcome) return failureText(outcome.reason);
  return outcome.kind === 'gone' ? 'it wants no more events (error 410)' : label(outcome.kind).toLowerCase();
}

function failureText(reason: string): string {
  const [, status] = /^HTTP_(\d+)$/.exec(reason) ?? [];
  if (status !== undefined) return `it returned error ${status}`;
  return reason === 'TIMEOUT' ? "it didn't respond in time" : reason.toLowerCase().replaceAll('_', ' ');
}

function resendText(resend: Resend | undefined): Html | undefined {
  if (!resend) return undefined;
  if (resend.kind === 'sent') return html`<small>${resend.events} events sent again</small>`;
  return resend.kind === 'running'
    ? html`<small>Sending events again…</small>`
    : html`<small>Not all events could be sent again: repeat it.</small>`;
}

function listOf(visit: Visit, endpoints: readonly ListedEndpoint[], resends: Resends): Html {
  if (endpoints.length === 0)
    return empty('No endpoint gets events', 'Ask your administrator to list one in the file of endpoints.');
  return html`${table({
    caption: 'Events wait while their endpoint fails, and are sent in order',
    head: [
      'Endpoint',
      'State',
      'Waiting#',
      'Delivered#',
      'Lost#',
      'Last delivered',
      'Last failure',
      'Actions#',
    ],
    rows: endpoints.map((one) => {
      const name = html`<strong>${one.endpoint}</strong>${one.app !== 'default' && html`<small>${one.app}</small>`}`;
      if ('unknown' in one) return [name, html`${pill('UNKNOWN', 'warn')}<small>${one.unknown}</small>`];
      const { sentence, isEnabled, waiting, delivered, lost, lastDeliveredAt, lastFailure, needsAttention } =
        one;
      const isRetried = waiting > 0 && lastFailure !== undefined && (lastDeliveredAt ?? '') < lastFailure.at;
      const state = !isEnabled
        ? pill('DISABLED', 'bad')
        : isRetried || needsAttention
          ? pill('FAILS', 'warn')
          : pill('ENABLED', 'good');
      return [
        name,
        html`${state}<small>${sentence}</small>${resendText(resends.of(keyOf(one)))}`,
        ...[waiting, delivered, lost, time(lastDeliveredAt)],
        lastFailure &&
          html`${failureText(lastFailure.reason).replace(/^[a-z]/, (first) => first.toUpperCase())}<small>${time(lastFailure.at)}</small>`,
        forms(visit, one),
      ];
    }),
  })}${endpoints.map((one) => 'reasons' in one && attentionReasons('endpoint', one.reasons))}`;
}

function forms({ caller, formToken }: Visit, one: ListedEndpoint): Html | undefined {
  const { app, endpoint } = one;
  if (!may(caller, 'events')) return undefined;
  const isStuck = 'reasons' in one && (!one.isEnabled || one.waiting > 0 || one.needsAttention);
  return html`<form method="post" action="/desk/events/test" class="buttons">${hidden({ formToken, app, endpoint })}
<span class="pair"><button class="plain">Send a test <span class="visually-hidden">to ${endpoint}</span></button>
${isStuck && html`<button class="plain" formaction="/desk/events/enable">${one.isEnabled ? 'Retry now' : 'Enable'} <span class="visually-hidden">${endpoint}</span></button>`}</span>
<span class="pair"><select name="span" aria-label="Events of">${NAMES.map((name) => html`<option value="${name}">the last ${name}</option>`)}</select>
<button class="plain" formaction="/desk/events/resend">Send again <span class="visually-hidden">to ${endpoint}</span></button></span></form>`;
}
