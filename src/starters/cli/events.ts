/** The verbs below `events`. */
import { type EndpointRef, Events, type ListedEndpoint, type Resent } from '../../client/events.ts';
import type { PayoutRef } from '../../client/payouts.ts';
import type { EndpointState } from '../../contract/events.ts';
import { type Answer, EXIT, UsageError } from './answer.ts';
import type { Session } from './session.ts';
import { attentionText, colors, facts, grid } from './text.ts';

export async function endpoints(session: Session, app: string): Promise<Answer> {
  const found = await session.withDeadline(() => eventsOf(session).endpoints(app));
  const head = ['endpoint', 'waiting', 'delivered', 'last delivered', 'last failure', 'state'];
  return { json: found, text: found.length === 0 ? 'no endpoints' : grid(head, found.map(row)) };
}

function row(listed: ListedEndpoint): string[] {
  if ('unknown' in listed) return [listed.endpoint, '', '', '', '', colors.yellow(listed.unknown)];
  const { endpoint, waiting, delivered, lastDeliveredAt = '', lastFailure, sentence, reasons } = listed;
  const failure = lastFailure ? `${lastFailure.at} ${lastFailure.reason}` : '';
  const state = [sentence, ...reasons.map(attentionText)].join('\n');
  return [endpoint, `${waiting}`, `${delivered}`, lastDeliveredAt, failure, state];
}

export async function endpoint(session: Session, ref: EndpointRef): Promise<Answer> {
  return endpointAnswer(await session.withDeadline(() => eventsOf(session).endpoint(ref)));
}

function endpointAnswer(state: EndpointState): Answer {
  const { endpoint: name, sentence, waiting, delivered, lost, lastDeliveredAt, lastFailure, next } = state;
  const lines = facts([
    ['endpoint', name],
    ['state', sentence],
    ['disabled', state.disabledAt],
    ['waiting', `${waiting}`],
    ['delivered', `${delivered}`],
    ['lost', lost > 0 ? `${lost}` : undefined],
    ['last delivered', lastDeliveredAt],
    ['last failure', lastFailure && `${lastFailure.at} ${lastFailure.reason}`],
  ]);
  const queue = next.map(({ id, source, type = '', attempts }) => [id, type, source, `${attempts}`]);
  const table = queue.length === 0 ? [] : [grid(['event', 'type', 'of', 'attempts'], queue)];
  return { json: state, text: [lines, ...state.reasons.map(attentionText), ...table].join('\n') };
}

export async function ofPayout(session: Session, ref: PayoutRef): Promise<Answer> {
  const found = await session.withDeadline(() => eventsOf(session).ofPayout(ref));
  const rows = found.map(({ id, type, timestamp }) => [timestamp, type, id]);
  return { json: found, text: rows.length === 0 ? 'no events' : grid(['published', 'type', 'event'], rows) };
}

export async function resendPayout(session: Session, ref: PayoutRef): Promise<Answer> {
  return resentAnswer(await session.withDeadline(() => eventsOf(session).resendPayout(ref)));
}

/** Reads many workflows, so it has no deadline. */
export async function resendSince(session: Session, ref: EndpointRef, since: string): Promise<Answer> {
  return resentAnswer(await eventsOf(session).resendSince(ref, since));
}

function resentAnswer(resent: Resent): Answer {
  const { events, endpoints: names } = resent;
  return { json: resent, text: `${events} events are sent again to ${names.join(', ') || 'no endpoint'}` };
}

export async function test(session: Session, ref: EndpointRef): Promise<Answer> {
  const outcome = await session.withDeadline(() => eventsOf(session).test(ref));
  const isDelivered = outcome.kind === 'delivered';
  const reason = outcome.kind === 'gone' ? 'HTTP_410' : 'reason' in outcome ? outcome.reason : outcome.kind;
  return {
    json: outcome,
    text: isDelivered ? `${ref.endpoint} accepted ${outcome.id}` : `${ref.endpoint} failed: ${reason}`,
    exitCode: isDelivered ? EXIT.ok : EXIT.refused,
  };
}

export async function enable(session: Session, ref: EndpointRef, by: string): Promise<Answer> {
  return endpointAnswer(await session.withDeadline(() => eventsOf(session).enable(ref, by)));
}

function eventsOf({ client, environment }: Session): Events {
  if (environment === undefined) throw new UsageError('PAYMENTS_ENVIRONMENT is missing');
  return new Events({ client, environment });
}
