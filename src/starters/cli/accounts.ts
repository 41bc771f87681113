/** `account`: the accounts of a client, and the receiving accounts: requests for them, their balance and their detail. */
import { type Command, Option } from '@commander-js/extra-typings';
import { PayoutsError } from '../../client/errors.ts';
import { EXIT } from '../../contract/errors.ts';
import type { ClientAccounts } from '../../contract/provider-records.ts';
import type { ReceivingAccountState } from '../../contract/receiving-account.ts';
import type { ReceivingAccountResolution } from '../../contract/workflows.ts';
import {
  command,
  fileCommand,
  ID,
  long,
  OPEN_ID,
  quick,
  type ResolutionOptions,
  repeatable,
  resolutionOf,
  resolving,
  YES,
} from './command.ts';
import { type Output, UsageError } from './output.ts';
import { attentionText, facts, lines, money, table } from './text.ts';

const CANDIDATE = new Option('--candidate <accountId>', 'a candidate that you have seen; repeat it for each')
  .argParser(repeatable)
  .conflicts('created');

export function accountCommands(program: Command): void {
  const account = command(
    program,
    'account',
    "show the client's accounts; its subcommands are for receiving accounts",
  )
    // Not mandatory for the subcommands.
    .option('--client-id <id>', 'the client ID')
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
      long(async (file, { app, wait, by: startedBy }) => {
        const body = (await import('./files.ts')).openingOf(file, app);
        return {
          change: 'request a receiving account',
          work: async ({ receivingAccounts, withDeadline }) => {
            const started = await withDeadline(() => receivingAccounts.open(body, { startedBy }));
            const { requestId, workflowId, runId } = started;
            const text = facts({ request: requestId, app: started.app, workflow: workflowId, run: runId });
            if (!wait) return { json: started, text };
            const result = await receivingAccounts.result(started);
            const exitCode = result.outcome === 'OPENED' ? EXIT.ok : EXIT.notPaid;
            return { ...requestOutput(result), exitCode };
          },
        };
      }),
    );
  command(account, 'status', 'show a request by its requestId')
    .addArgument(ID)
    .action(
      quick((requestId, { app }) => async ({ receivingAccounts }) => {
        return requestOutput(await receivingAccounts.state({ app, requestId }));
      }),
    );
  resolving(account, 'resolve a request in review', 'the account was opened; its detail is compared first')
    .addOption(CANDIDATE)
    .action(
      quick((requestId, { app, ...options }) => {
        const resolution = openingResolution(options);
        return {
          change: `resolve the request ${requestId}`,
          work: async ({ receivingAccounts }) =>
            requestOutput(await receivingAccounts.resolve({ app, requestId }, resolution)),
        };
      }),
    );
  command(account, 'balance', 'show what a payer has received in one currency, and the accounts for it')
    .requiredOption('--payer-id <id>', 'the payer ID')
    .requiredOption('--currency <code>', 'such as USD')
    .addOption(OPEN_ID)
    .action(
      long(({ app, payerId, currency, openId }) => async ({ reads }) => {
        const found = await reads.receivingBalance(app, payerId, currency, openId);
        const accounts = found.accountIds.join(', ') || 'none';
        return { json: found, text: facts({ balance: money(found.balance), accounts }) };
      }),
    );
  command(account, 'detail', "show the provider's record of one receiving account")
    .argument('<accountId>')
    .addOption(OPEN_ID)
    .action(
      long((accountId, { app, openId }) => async ({ reads }) => {
        const found = await reads.receivingDetail(app, accountId, openId);
        if (!found) throw new PayoutsError('NOT_FOUND', 'the provider has no such account');
        return { json: found, text: recordText(found) };
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
  const chosen = resolutionOf(options, 'ACCOUNT_ID');
  if (!chosen.created) return { by, ...chosen, ...(candidates && { candidates }) };
  return { by, created: true, accountId: chosen.id };
}

function accountsOutput(found: ClientAccounts | null): Output {
  if (!found) return { json: found, text: 'the client has no account' };
  const unread = (found.unread ?? []).map((one) => ({ ...one, status: 'unreadable' }));
  const text = table<Partial<ClientAccounts['accounts'][number]>>([...found.accounts, ...unread], {
    account: ({ accountType = '?' }) => accountType,
    currency: ({ currency = '?' }) => currency,
    status: ({ status }) => status,
    available: ({ available }) => available && money(available),
    frozen: ({ frozen }) => frozen && money(frozen),
  });
  return { json: found, text };
}

function requestOutput(state: Partial<ReceivingAccountState>): Output {
  const { reason, candidates, account, reasons = [] } = state;
  const shown = facts({
    request: state.requestId,
    phase: state.phase,
    state: state.sentence,
    'next step': state.nextStep,
    outcome: state.outcome,
    reason: reason && `${reason.code}: ${reason.message}`,
    account: state.accountId,
    currency: state.currency,
    candidates: candidates?.join(', '),
    'requests sent': state.sends,
    'last query': state.lastAskedAt,
  });
  return { json: state, text: lines(shown, account && recordText(account), ...reasons.map(attentionText)) };
}

function recordText(record: Record<string, unknown>): string {
  const fields = Object.entries(record).map(([name, value]) => [
    `  ${name}`,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return facts(Object.fromEntries(fields));
}
