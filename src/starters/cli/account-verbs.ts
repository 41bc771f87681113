/** `account`: the client's accounts, and receiving accounts: open one, see what became of it, look at them. */

import type { OpeningResolution } from '../../workflows/opening-messages.ts';
import type { OpeningRef } from '../receiving-accounts.ts';
import { openingText, recordText } from './account-text.ts';
import { type Answer, EXIT, UsageError } from './answer.ts';
import { readJson } from './files.ts';
import { whatWasFound } from './findings.ts';
import { clientAccounts } from './list-verbs.ts';
import type { Session } from './session.ts';
import { facts, money } from './text.ts';
import { type AddVerb, BY, type Common, verbsOf } from './verb.ts';

type WithUser = Common & { openId?: string };
const OPEN_ID = ['--open-id <id>', 'the user to act for, where user tokens are used'] as const;

export function accountVerbs(verb: AddVerb): void {
  const account = verb<WithUser & { clientId?: string }>(
    'account',
    "the client's accounts; below it: receiving accounts",
    async (session, _none, { app, clientId, openId }) => {
      if (clientId === undefined) throw new UsageError('--client-id is missing');
      return clientAccounts(session, { app, clientId, openId });
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
    (session, file, { wait, by }) => open(session, file, wait === true, by),
  )
    .option('--wait', 'wait for the account')
    .option('--by <name>', 'who asks for it');
  verb('status <id>', 'what became of a request, by its requestId', async (session, id, options) =>
    stateAnswer(session, ref(id, options)),
  );
  verb<Common & { by: string; created?: string; notCreated?: string }>(
    'resolve <id>',
    'say what you found out about a request in review',
    async (session, id, { by, created, notCreated, ...common }) => {
      const resolution = resolutionOf(by, created, notCreated);
      const state = await session.soon(() => session.receivingAccounts.resolve(ref(id, common), resolution));
      return { json: state, text: openingText(state) };
    },
  )
    .requiredOption(...BY)
    .option('--created <accountId>', 'it was opened; its detail is checked')
    .option('--not-created <then>', 'it was not: end, or retry (look once more, then send again)');
}

function readVerbs(verb: AddVerb): void {
  verb<WithUser & { payerId: string; currency: string }>(
    'balance',
    'what a payer has received in one currency, and the accounts for it',
    async (session, _none, { app, payerId, currency, openId }) => {
      const found = await session.reads.receivingBalance(app, payerId, currency, openId);
      const lines = facts([
        ['balance', money(found.balance)],
        ['accounts', found.accountIds.join(', ') || 'none'],
      ]);
      return { json: found, text: lines };
    },
  )
    .requiredOption('--payer-id <id>', 'payer number')
    .requiredOption('--currency <code>', 'such as USD')
    .option(...OPEN_ID);
  verb<WithUser>('detail <accountId>', 'one receiving account, as the service writes it', detail).option(
    ...OPEN_ID,
  );
}

async function open(session: Session, file: string, wait: boolean, by: string | undefined): Promise<Answer> {
  const body = readJson(file);
  const started = await session.soon(() => session.receivingAccounts.open(body, { startedBy: by }));
  const { requestId, app, workflowId, runId } = started;
  if (!wait) {
    const lines = facts([
      ['request', requestId],
      ['app', app],
      ['workflow', workflowId],
      ['run', runId],
    ]);
    return { json: started, text: lines };
  }
  const result = await session.receivingAccounts.result(started);
  const exitCode = result.outcome === 'OPENED' ? EXIT.ok : EXIT.notPaid;
  return { json: result, text: openingText(result), exitCode };
}

async function stateAnswer(session: Session, ref: OpeningRef): Promise<Answer> {
  const state = await session.soon(() => session.receivingAccounts.state(ref));
  return { json: state, text: openingText(state) };
}

function resolutionOf(by: string, created?: string, notCreated?: string): OpeningResolution {
  const found = whatWasFound(created, notCreated, 'ACCOUNT_ID');
  return found.created ? { by, created: true, accountId: found.id } : { by, ...found };
}

async function detail(session: Session, accountId: string, { app, openId }: WithUser): Promise<Answer> {
  const found = await session.reads.receivingDetail(app, accountId, openId);
  if (found) return { json: found, text: recordText(found) };
  return {
    json: { error: { code: 'NOT_FOUND', message: 'the payments service knows no such account' } },
    text: 'the payments service knows no such account',
    exitCode: EXIT.notFound,
  };
}
