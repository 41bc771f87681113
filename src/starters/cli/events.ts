/** `events`: lists events and endpoints, sends events again, tests and enables endpoints. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { ListedEndpoint, PublishedEvent, Resent } from '../../client/events.ts';
import type { EndpointState } from '../../contract/events.ts';
import { APP, command, confirmed, DECIDED_BY, long, matching, ownId, quick, time, YES } from './command.ts';
import { EXIT, type Output, UsageError } from './output.ts';
import { attentionText, colors, facts, grid } from './text.ts';

const endpointName = matching(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lowercase letters, digits and hyphens');
const PAYOUT = new Option('--payout <id>', 'the events of this payout').argParser(ownId);
const ENDPOINT = new Option('--endpoint <name>', 'the name of the endpoint').argParser(endpointName);
const ONE_ENDPOINT = ['--endpoint <name>', 'the name of the endpoint', endpointName] as const;

export function eventCommands(program: Command): void {
  const events = program
    .command('events')
    .description('list, send again and test the events that endpoints get');
  events
    .command('list', { isDefault: true })
    .description('list the endpoints, the events of a payout, or what waits for one endpoint')
    .addOption(APP)
    .addOption(PAYOUT)
    .addOption(ENDPOINT)
    .action(
      quick(({ app, payout: partnerOrderId, endpoint }) => {
        if (partnerOrderId !== undefined && endpoint !== undefined)
          throw new UsageError('give either --payout or --endpoint');
        return async ({ events: known }) => {
          if (partnerOrderId !== undefined)
            return publishedOutput(await known.ofPayout({ app, partnerOrderId }));
          if (endpoint !== undefined) return endpointOutput(await known.endpoint({ app, endpoint }));
          return endpointsOutput(await known.endpoints(app));
        };
      }),
    );
  command(
    events,
    'resend',
    'send events again, under the same ids: of a payout, or all since a time to one endpoint',
  )
    .addOption(YES)
    .addOption(PAYOUT)
    .addOption(ENDPOINT)
    .option('--since <time>', 'events of this time or day (UTC) or later', time)
    .action(
      long(({ app, yes, payout: partnerOrderId, endpoint, since }) => {
        if (partnerOrderId !== undefined && endpoint === undefined && since === undefined)
          return confirmed({ yes }, `send the events of payout ${partnerOrderId} again`, async (session) =>
            resentOutput(
              await session.withDeadline(() => session.events.resendPayout({ app, partnerOrderId })),
            ),
          );
        if (partnerOrderId !== undefined || endpoint === undefined || since === undefined)
          throw new UsageError('give either --payout ID, or --endpoint NAME and --since TIME');
        return confirmed({ yes }, `send all events since ${since} to ${endpoint} again`, async (session) =>
          resentOutput(await session.events.resendSince({ app, endpoint }, since)),
        );
      }),
    );
  command(events, 'test', 'send a test event to an endpoint now')
    .requiredOption(...ONE_ENDPOINT)
    .action(
      quick(({ app, endpoint }) => async ({ events: known }) => {
        const outcome = await known.test({ app, endpoint });
        if (outcome.kind === 'delivered')
          return { json: outcome, text: `${endpoint} accepted ${outcome.id}` };
        const reason =
          outcome.kind === 'gone' ? 'HTTP_410' : 'reason' in outcome ? outcome.reason : outcome.kind;
        return { json: outcome, text: `${endpoint} failed: ${reason}`, exitCode: EXIT.refused };
      }),
    );
  command(events, 'enable', 'let a disabled endpoint get events again, and send what waits')
    .addOption(YES)
    .requiredOption(...ONE_ENDPOINT)
    .addOption(DECIDED_BY)
    .action(
      quick(({ app, yes, endpoint, by }) =>
        confirmed({ yes }, `enable endpoint ${endpoint}`, async ({ events: known }) =>
          endpointOutput(await known.enable({ app, endpoint }, by)),
        ),
      ),
    );
}

function endpointsOutput(found: readonly ListedEndpoint[]): Output {
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

function endpointOutput(state: EndpointState): Output {
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

function publishedOutput(found: readonly PublishedEvent[]): Output {
  const rows = found.map(({ id, type, timestamp }) => [timestamp, type, id]);
  return { json: found, text: rows.length === 0 ? 'no events' : grid(['published', 'type', 'event'], rows) };
}

function resentOutput(resent: Resent): Output {
  const { events, endpoints: names } = resent;
  return { json: resent, text: `${events} events are sent again to ${names.join(', ') || 'no endpoint'}` };
}
