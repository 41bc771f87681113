/** `account`: the client's accounts, and receiving accounts: open one, see what became of it, look at them. */
import { UsageError } from './answer.ts';
import { readJson } from './files.ts';
import { type Found, openingResolution } from './findings.ts';
import { type AddVerb, BY, type Common, verbsOf } from './verb.ts';

type WithUser = Common & { openId?: string };
const OPEN_ID = ['--open-id <id>', 'the user to act for, where user tokens are used'] as const;

const accounts = () => import('./accounts.ts');

export function accountVerbs(verb: AddVerb): void {
  const account = verb<WithUser & { clientId?: string }>(
    'account',
    "the client's accounts; below it: receiving accounts",
    (_none, { app, clientId, openId }) => {
      if (clientId === undefined) throw new UsageError('--client-id is missing');
      return async (session) => (await accounts()).clientAccounts(session, app, clientId, openId);
    },
  )
    .option('--client-id <id>', 'client number')
    .option(...OPEN_ID);
  openingVerbs(verbsOf(account));
  readVerbs(verbsOf(account));
}

function openingVerbs(verb: AddVerb): void {
  const ref = (requestId: string, { app }: Common) => ({ app, requestId });
  verb<Common & { wait?: true; by?: string }>(
    'open <file>',
    'ask for the receiving account in FILE (- reads standard input), or join the request',
    (file, { wait, by }) => {
      const body = readJson(file);
      return async (session) => (await accounts()).open(session, body, wait === true, by);
    },
  )
    .option('--wait', 'wait for the account')
    .option('--by <name>', 'who asks for it');
  verb(
    'status <id>',
    'what became of a request, by its requestId',
    (id, options) => async (session) => (await accounts()).status(session, ref(id, options)),
  );
  verb<Common & Found>('resolve <id>', 'say what you found out about a request in review', (id, options) => {
    const resolution = openingResolution(options);
    return async (session) => (await accounts()).resolve(session, ref(id, options), resolution);
  })
    .requiredOption(...BY)
    .option('--created <accountId>', 'it was opened; its detail is checked')
    .option('--not-created <then>', 'it was not: end, or retry (look once more, then send again)');
}

function readVerbs(verb: AddVerb): void {
  verb<WithUser & { payerId: string; currency: string }>(
    'balance',
    'what a payer has received in one currency, and the accounts for it',
    (_none, { app, payerId, currency, openId }) =>
      async (session) =>
        (await accounts()).balance(session, app, { payerId, currency, openId }),
  )
    .requiredOption('--payer-id <id>', 'payer number')
    .requiredOption('--currency <code>', 'such as USD')
    .option(...OPEN_ID);
  verb<WithUser>(
    'detail <accountId>',
    'one receiving account, as the service writes it',
    (accountId, { app, openId }) =>
      async (session) =>
        (await accounts()).detail(session, app, accountId, openId),
  ).option(...OPEN_ID);
}
