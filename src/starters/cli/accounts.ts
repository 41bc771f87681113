/** `account`: the accounts of a client, and the receiving accounts: requests for them, their balance and their detail. */
import { type Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { StartedReceivingAccount } from '../../client/receiving-accounts.ts';
import type { ClientAccounts } from '../../contract/provider-records.ts';
import type { ReceivingAccountState } from '../../contract/receiving-account.ts';
import type { ReceivingAccountResolution } from '../../contract/workflows.ts';
import {
  command,
  confirmed,
  DECIDED_BY,
  fileCommand,
  ID,
  long,
  NOT_CREATED,
  OPEN_ID,
  quick,
  type ResolutionOptions,
  repeatable,
  resolutionOf,
  SENDS,
  YES,
} from './command.ts';
import { EXIT, type Output, UsageError } from './output.ts';
import { attentionText, facts, grid, money } from './text.ts';

const CANDIDATE = new Option('--candidate <accountId>', 'a candidate that you have seen; repeat it for each')
  .argParser(repeatable)
  .conflicts('created');

export function accountCommands(program: Command): void {
  const account = command(
    program,
    'account',
    "show the client's accounts; its subcommands are for receiving accounts",
  )
    .option('--client-id <id>', 'the client id')
    .addOption(OPEN_ID)
    .action(
      long(({ app, clientId, openId }) => {
        if (clientId === undefined) throw new UsageError('--client-id is missing');
        return async ({ reads }) => accountsOutput(await reads.accounts(app, clientId, openId));
      }),
    );
  fileCommand(
    account,
    'open',
    'request the receiving account in FILE (- for standard input), or join the request',
  )
    .addOption(YES)
    .option('--wait', 'wait for the account')
    .option('--by <name>', 'who requests it')
    .action(
      long(async (file, { app, yes, wait, by: startedBy }) => {
        const body = (await import('./files.ts')).openingOf(file, app);
        return confirmed({ yes }, 'request a receiving account', async (session) => {
          const { receivingAccounts, withDeadline } = session;
          const started = await withDeadline(() => receivingAccounts.open(body, { startedBy }));
          if (!wait) return startedOutput(started);
          const result = await receivingAccounts.result(started);
          const exitCode = result.outcome === 'OPENED' ? EXIT.ok : EXIT.notPaid;
          return { ...requestOutput(result), exitCode };
        });
      }),
    );
  command(account, 'status', 'show a request by its requestId')
    .addArgument(ID)
    .action(
      quick(
        (requestId, { app }) =>
          async ({ receivingAccounts }) =>
            requestOutput(await receivingAccounts.state({ app, requestId })),
      ),
    );
  command(account, 'resolve', 'resolve a request in review')
    .addArgument(ID)
    .addOption(YES)
    .addOption(DECIDED_BY)
    .option('--created <accountId>', 'the account was opened; its detail is compared first')
    .addOption(NOT_CREATED)
    .addOption(CANDIDATE)
    .addOption(SENDS)
    .action(
      quick((requestId, { app, yes, ...options }) => {
        const resolution = openingResolution(options);
        return confirmed({ yes }, `resolve the request ${requestId}`, async ({ receivingAccounts }) =>
          requestOutput(await receivingAccounts.resolve({ app, requestId }, resolution)),
        );
      }),
    );
  readCommands(account);
}

function readCommands(account: CommandUnknownOpts): void {
  command(account, 'balance', 'show what a payer has received in one currency, and the accounts for it')
    .requiredOption('--payer-id <id>', 'the payer id')
    .requiredOption('--currency <code>', 'such as USD')
    .addOption(OPEN_ID)
    .action(
      long(({ app, payerId, currency, openId }) => async ({ reads }) => {
        const found = await reads.receivingBalance(app, payerId, currency, openId);
        const text = facts([
          ['balance', money(found.balance)],
          ['accounts', found.accountIds.join(', ') || 'none'],
        ]);
        return { json: found, text };
      }),
    );
  command(account, 'detail', "show the provider's record of one receiving account")
    .argument('<accountId>')
    .addOption(OPEN_ID)
    .action(
      long((accountId, { app, openId }) => async ({ reads }) => {
        const found = await reads.receivingDetail(app, accountId, openId);
        if (found) return { json: found, text: recordText(found) };
        const message = 'the provider has no such account';
        return { json: { error: { code: 'NOT_FOUND', message } }, text: message, exitCode: EXIT.notFound };
      }),
    );
}

interface OpeningResolutionOptions extends ResolutionOptions {
  by: string;
  candidate?: string[] | undefined;
}

function openingResolution({
  by,
  candidate: candidates,
  ...options
}: OpeningResolutionOptions): ReceivingAccountResolution {
  const decision = resolutionOf(options, 'ACCOUNT_ID');
  if (!decision.created) return { by, ...decision, ...(candidates && { candidates }) };
  return { by, created: true, accountId: decision.id };
}

function accountsOutput(found: ClientAccounts | null): Output {
  if (!found) return { json: found, text: 'the client has no account' };
  const rows = found.accounts.map(({ accountType, currency, status, available, frozen }) => [
    accountType,
    currency,
    status,
    money(available),
    money(frozen),
  ]);
  for (const { accountType = '?', currency = '?' } of found.unread ?? [])
    rows.push([accountType, currency, 'unreadable', '', '']);
  return { json: found, text: grid(['account', 'currency', 'status', 'available', 'frozen'], rows) };
}

function startedOutput(started: StartedReceivingAccount): Output {
  const { requestId, app, workflowId, runId } = started;
  const text = facts([
    ['request', requestId],
    ['app', app],
    ['workflow', workflowId],
    ['run', runId],
  ]);
  return { json: started, text };
}

function requestOutput(state: Partial<ReceivingAccountState>): Output {
  const { reason, candidates, account, reasons = [] } = state;
  const lines = facts([
    ['request', state.requestId],
    ['phase', state.phase],
    ['state', state.sentence],
    ['next step', state.nextStep],
    ['outcome', state.outcome],
    ['reason', reason && `${reason.code}: ${reason.message}`],
    ['account', state.accountId],
    ['currency', state.currency],
    ['candidates', candidates?.join(', ')],
    ['requests sent', state.sends?.toString()],
    ['last query', state.lastAskedAt],
  ]);
  const parts = [lines, account && recordText(account), ...reasons.map(attentionText)];
  return { json: state, text: parts.filter((part) => part).join('\n') };
}

/** All fields of the provider's record. */
function recordText(record: Record<string, unknown>): string {
  return facts(
    Object.entries(record).map(([name, value]) => [
      `  ${name}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
