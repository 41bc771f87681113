/** `events`: lists events and endpoints, sends events again, tests and enables endpoints. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { ListedEndpoint, PublishedEvent, Resent } from '../../client/events.ts';
import { EXIT } from '../../contract/errors.ts';
import type { EndpointState } from '../../contract/events.ts';
import { APP, command, decision, long, matching, ownId, quick, time, YES } from './command.ts';
import { type Output, UsageError } from './output.ts';
import { attentionText, colors, facts, lines, table } from './text.ts';

const endpointName = matching(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 lowercase letters, digits and hyphens');
const payout = (...others: string[]) =>
  new Option('--payout <id>', 'the events of this payout').argParser(ownId).conflicts(others);
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
    .addOption(payout('endpoint'))
    .addOption(ENDPOINT)
    .action(
      quick(({ app, payout: partnerOrderId, endpoint }) => async ({ events: known }) => {
        if (partnerOrderId !== undefined)
          return publishedOutput(await known.ofPayout({ app, partnerOrderId }));
        if (endpoint !== undefined) return endpointOutput(await known.endpoint({ app, endpoint }));
        return endpointsOutput(await known.endpoints(app));
      }),
    );
  command(
    events,
    'resend',
    'send events again, under the same IDs: of a payout, or all since a time to one endpoint',
  )
    .addOption(YES)
    .addOption(payout('endpoint', 'since'))
    .addOption(ENDPOINT)
    .option('--since <time>', 'events of this time or day (UTC) or later', time)
    .action(
      long(({ app, payout: partnerOrderId, endpoint, since }) => {
        if (partnerOrderId !== undefined)
          return {
            change: `send the events of payout ${partnerOrderId} again`,
            work: async ({ events: known, withDeadline }) =>
              resentOutput(await withDeadline(() => known.resendPayout({ app, partnerOrderId }))),
          };
        if (endpoint === undefined || since === undefined)
          throw new UsageError('give either --payout ID, or --endpoint NAME and --since TIME');
        return {
          change: `send all events since ${since} to ${endpoint} again`,
          work: async ({ events: known }) => resentOutput(await known.resendSince({ app, endpoint }, since)),
        };
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
  decision(events, 'enable', 'let a disabled endpoint get events again, and send what waits')
    .requiredOption(...ONE_ENDPOINT)
    .action(
      quick(({ app, endpoint, by }) => ({
        change: `enable endpoint ${endpoint}`,
        work: async ({ events: known }) => endpointOutput(await known.enable({ app, endpoint }, by)),
      })),
    );
}

function endpointsOutput(found: readonly ListedEndpoint[]): Output {
  const known = (one: ListedEndpoint): Partial<EndpointState> => ('unknown' in one ? {} : one);
  const text = table(
    found,
    {
      endpoint: ({ endpoint }) => endpoint,
      waiting: (one) => known(one).waiting,
      delivered: (one) => known(one).delivered,
      'last delivered': (one) => known(one).lastDeliveredAt,
      'last failure': (one) => failureText(known(one)),
      state: (one) =>
        'unknown' in one
          ? colors.yellow(one.unknown)
          : lines(one.sentence, ...one.reasons.map(attentionText)),
    },
    'no endpoints',
  );
  return { json: found, text };
}

function failureText({ lastFailure }: Partial<EndpointState>): string | undefined {
  return lastFailure && `${lastFailure.at} ${lastFailure.reason}`;
}

function endpointOutput(state: EndpointState): Output {
  const { lost, next, reasons } = state;
  const shown = facts({
    endpoint: state.endpoint,
    state: state.sentence,
    disabled: state.disabledAt,
    waiting: state.waiting,
    delivered: state.delivered,
    lost: lost || undefined,
    'last delivered': state.lastDeliveredAt,
    'last failure': failureText(state),
  });
  const queue = table(next, {
    event: ({ id }) => id,
    type: ({ type }) => type,
    of: ({ source }) => source,
    attempts: ({ attempts }) => attempts,
  });
  return { json: state, text: lines(shown, ...reasons.map(attentionText), queue) };
}

function publishedOutput(found: readonly PublishedEvent[]): Output {
  const columns = {
    published: ({ timestamp }: PublishedEvent) => timestamp,
    type: ({ type }: PublishedEvent) => type,
    event: ({ id }: PublishedEvent) => id,
  };
  return { json: found, text: table(found, columns, 'no events') };
}

function resentOutput(resent: Resent): Output {
  const { events, endpoints: names } = resent;
  return { json: resent, text: `${events} events are sent again to ${names.join(', ') || 'no endpoint'}` };
}
