/** `events`: lists events and endpoints, sends events again, tests and enables endpoints. */
import { UsageError } from './answer.ts';
import { checkedId, checkedTime } from './options.ts';
import { type AddVerb, type Common, type Confirmable, confirmed, DECIDED_BY, verbsOf, YES } from './verb.ts';

const ENDPOINT_NAME = /^[a-z0-9-]{1,32}$/;

const events = () => import('./events.ts');

interface Which {
  payout?: string;
  endpoint?: string;
  since?: string;
}

const PAYOUT = ['--payout <id>', 'the events of this payout'] as const;
const ENDPOINT = ['--endpoint <name>', 'the name of the endpoint'] as const;

export function eventVerbs(verb: AddVerb): void {
  const group = verb(
    'events',
    'list the endpoints that get events; its subcommands are for events',
    (_none, { app }) => {
      return async (session) => (await events()).endpoints(session, app);
    },
  );
  const below = verbsOf(group);
  below<Common & Which>(
    'list',
    'list the endpoints, the events of a payout, or what waits for one endpoint',
    (_none, { app, payout, endpoint }) => {
      if (payout !== undefined && endpoint !== undefined)
        throw new UsageError('give either --payout or --endpoint');
      if (payout !== undefined) {
        const partnerOrderId = checkedId(payout);
        return async (session) => (await events()).ofPayout(session, { app, partnerOrderId });
      }
      if (endpoint === undefined) return async (session) => (await events()).endpoints(session, app);
      const ref = { app, endpoint: checkedEndpoint(endpoint) };
      return async (session) => (await events()).endpoint(session, ref);
    },
  )
    .option(...PAYOUT)
    .option(...ENDPOINT);
  below<Common & Confirmable & Which>(
    'resend',
    'send events again, under the same ids: of a payout, or all since a time to one endpoint',
    (_none, { app, payout, endpoint, since, ...rest }) => {
      if (payout !== undefined && endpoint === undefined && since === undefined) {
        const partnerOrderId = checkedId(payout);
        return confirmed(rest, `send the events of payout ${payout} again`, async (session) =>
          (await events()).resendPayout(session, { app, partnerOrderId }),
        );
      }
      const sinceTime = checkedTime('--since', since);
      if (payout !== undefined || endpoint === undefined || sinceTime === undefined)
        throw new UsageError('give either --payout ID, or --endpoint NAME and --since TIME');
      const ref = { app, endpoint: checkedEndpoint(endpoint) };
      return confirmed(rest, `send all events since ${since} to ${endpoint} again`, async (session) =>
        (await events()).resendSince(session, ref, sinceTime),
      );
    },
  )
    .option(...YES)
    .option(...PAYOUT)
    .option(...ENDPOINT)
    .option('--since <time>', 'events of this time or day (UTC) or later');
  below<Common & Required<Pick<Which, 'endpoint'>>>(
    'test',
    'send a test event to an endpoint now',
    (_none, { app, endpoint }) => {
      const ref = { app, endpoint: checkedEndpoint(endpoint) };
      return async (session) => (await events()).test(session, ref);
    },
  ).requiredOption(...ENDPOINT);
  below<Common & Confirmable & Required<Pick<Which, 'endpoint'>> & { by: string }>(
    'enable',
    'let a disabled endpoint get events again, and send what waits',
    (_none, { app, endpoint, by, ...rest }) => {
      const ref = { app, endpoint: checkedEndpoint(endpoint) };
      return confirmed(rest, `enable endpoint ${endpoint}`, async (session) =>
        (await events()).enable(session, ref, by),
      );
    },
  )
    .option(...YES)
    .requiredOption(...ENDPOINT)
    .requiredOption(...DECIDED_BY);
}

function checkedEndpoint(name: string): string {
  if (ENDPOINT_NAME.test(name)) return name;
  throw new UsageError('--endpoint must be 1 to 32 lowercase letters, digits and hyphens');
}
