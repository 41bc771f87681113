/** `account`: the client's accounts, and below it the verbs for receiving accounts. */
import { UsageError } from './answer.ts';
import { readJson } from './files.ts';
import { openingResolution, type ResolveOptions } from './options.ts';
import {
  type AddVerb,
  type Common,
  type Confirmable,
  confirmed,
  DECIDED_BY,
  repeatable,
  SENDS,
  verbsOf,
  YES,
} from './verb.ts';

type WithUser = Common & { openId?: string };
const OPEN_ID = ['--open-id <id>', 'the user, if user tokens are used'] as const;

const EACH_CANDIDATE = [
  '--candidate <accountId>',
  'a candidate that you have seen; repeat it for each',
  repeatable,
] as const;

const accounts = () => import('./accounts.ts');
const payoutFile = () => import('./payout-file.ts');

export function accountVerbs(verb: AddVerb): void {
  const account = verb<WithUser & { clientId?: string }>(
    'account',
    "show the client's accounts; its subcommands are for receiving accounts",
    (_none, { app, clientId, openId }) => {
      if (clientId === undefined) throw new UsageError('--client-id is missing');
      return async (session) => (await accounts()).clientAccounts(session, app, clientId, openId);
    },
  )
    .option('--client-id <id>', 'the client id')
    .option(...OPEN_ID);
  requestVerbs(verbsOf(account));
  readVerbs(verbsOf(account));
}

function requestVerbs(verb: AddVerb): void {
  const ref = (requestId: string, { app }: Common) => ({ app, requestId });
  verb<Common & Confirmable & { wait?: true; by?: string }>(
    'open <file>',
    'request the receiving account in FILE (- for standard input), or join the request',
    async (file, { wait, by, ...options }) => {
      const body = await checkedOpening(file);
      return confirmed(options, 'request a receiving account', async (session) =>
        (await accounts()).open(session, body, wait === true, by),
      );
    },
  )
    .option(...YES)
    .option('--wait', 'wait for the account')
    .option('--by <name>', 'who requests it');
  verb(
    'status <id>',
    'show a request by its requestId',
    (id, options) => async (session) =>
      (await accounts()).request(session, (requests) => requests.state(ref(id, options))),
  );
  verb<Common & Confirmable & ResolveOptions>(
    'resolve <id>',
    'resolve a request in review',
    (id, options) => {
      const resolution = openingResolution(options);
      return confirmed(options, `resolve the request ${id}`, async (session) =>
        (await accounts()).request(session, (requests) => requests.resolve(ref(id, options), resolution)),
      );
    },
  )
    .option(...YES)
    .requiredOption(...DECIDED_BY)
    .option('--created <accountId>', 'the account was opened; its detail is compared first')
    .option('--not-created <then>', 'it was not: end, or retry (compare once more, then send again)')
    .option(...EACH_CANDIDATE)
    .option(...SENDS);
}

function readVerbs(verb: AddVerb): void {
  verb<WithUser & { payerId: string; currency: string }>(
    'balance',
    'show what a payer has received in one currency, and the accounts for it',
    (_none, { app, payerId, currency, openId }) =>
      async (session) =>
        (await accounts()).balance(session, app, { payerId, currency, openId }),
  )
    .requiredOption('--payer-id <id>', 'the payer id')
    .requiredOption('--currency <code>', 'such as USD')
    .option(...OPEN_ID);
  verb<WithUser>(
    'detail <accountId>',
    "show the provider's record of one receiving account",
    (accountId, { app, openId }) =>
      async (session) =>
        (await accounts()).detail(session, app, accountId, openId),
  ).option(...OPEN_ID);
}

async function checkedOpening(file: string) {
  const content = readJson(file);
  return (await payoutFile()).checkedOpening(content);
}
