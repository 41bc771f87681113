/** `npm run payouts -- <verb>`: the command line. Talks to Temporal only. */
import { Command, CommanderError } from 'commander';
import { accountVerbs } from './account-verbs.ts';
import { EXIT, UsageError } from './answer.ts';
import { batchRows } from './batch-file.ts';
import type { BatchOptions } from './batch-verb.ts';
import { readBytes, readJson } from './files.ts';
import { type Found, payoutResolution } from './findings.ts';
import {
  checkedApp,
  checkedDay,
  checkedFilter,
  checkedLimit,
  checkedRate,
  type ListOptions,
  type RateLimitOptions,
} from './options.ts';
import { printFailure } from './print-failure.ts';
import { BY, type Common, perform, STARTER, verbsOf } from './verb.ts';

// A call loads what its own verb needs, and that only once what it was given is read: most of a call's CPU time is imports.
const payoutFile = () => import('./payout-file.ts');
const batchCheck = () => import('../../client/checked-batch.ts');
const payouts = () => import('./payout-verbs.ts');
const batches = () => import('./batch-verb.ts');
const lists = () => import('./list-verb.ts');
const reports = () => import('./report-verb.ts');
const tokens = () => import('./token-verb.ts');
const rateLimits = () => import('./rate-limit-verb.ts');
const examination = () => import('./doctor.ts');

const EXIT_CODES = `
Exit codes: 0 done; 1 unexpected, or the engine does not answer; 2 bad input; 3 no such payout;
4 refused; 5 a payout did not end as SUCCESS; 6 doctor found problems.

Examples:
  payouts start payout.json --wait
  payouts start payout.json --dry-run
  payouts status ORDER-1 --json
  payouts batch payouts.ndjson --watch
  payouts resolve ORDER-1 --by olga --not-created retry`;

const program = new Command('payouts')
  .description('start, steer and read cross-border payouts')
  .addHelpText('after', EXIT_CODES)
  .exitOverride()
  // What stands after a verb is the verb's own, or of a verb below it.
  .enablePositionalOptions()
  .configureOutput({ writeErr: (text) => void (wantsJson() || process.stderr.write(text)) });

const verb = verbsOf(program);

const ref = (partnerOrderId: string, { app }: Common) => ({ app, partnerOrderId });

verb<Common & { dryRun?: true; wait?: true; by?: string }>(
  'start <file>',
  'start the payouts in FILE (one, or a list; - reads standard input), or join them',
  async (file, { dryRun, wait, by }) => {
    const requests = await checkedFile(file);
    return async (session) =>
      dryRun
        ? (await payouts()).quote(session, requests)
        : (await payouts()).start(session, requests, wait === true, by);
  },
)
  .option('--dry-run', 'ask for quotes and show them; create nothing')
  .option('--wait', 'wait for the results')
  .option(...STARTER);

verb<BatchOptions & Common>(
  'batch <file>',
  'pay all of FILE, a JSON array or one payout a line',
  async (file, options) => {
    const bodies = batchRows(readBytes(file), file);
    const { checkedBatch } = await batchCheck();
    const { rows } = await checkedBatch({ app: options.app, batchId: 'unnamed', payouts: bodies });
    return async (session) => (await batches()).batch(session, rows, options);
  },
)
  .option(
    '--batch-id <id>',
    'the batch; by default named by its rows, so that the same file is the same batch',
  )
  .option(...STARTER)
  .option('--watch', 'show the progress and wait for the end');

verb(
  'status <id>',
  'where a payout stands',
  (id, options) => async (session) => (await payouts()).status(session, ref(id, options)),
);
verb(
  'result <id>',
  'wait for the end and show it',
  (id, options) => async (session) => (await payouts()).result(session, ref(id, options)),
);

verb<Common & { by: string; note?: string }>(
  'approve <id>',
  'approve the quote',
  (id, options) => async (session) =>
    (await payouts()).approve(session, ref(id, options), options.by, options.note),
)
  .requiredOption(...BY)
  .option('--note <text>', 'why');

verb<Common & { by: string; note?: string }>(
  'refuse <id>',
  'refuse the quote',
  (id, options) => async (session) =>
    (await payouts()).refuse(session, ref(id, options), options.by, options.note),
)
  .requiredOption(...BY)
  .option('--note <text>', 'why');

verb<Common & { by: string; reason?: string }>(
  'cancel <id>',
  'cancel before the creation begins; refused after',
  (id, options) => async (session) =>
    (await payouts()).cancel(session, ref(id, options), options.by, options.reason),
)
  .requiredOption(...BY)
  .option('--reason <text>', 'why');

verb<Common & Found>('resolve <id>', 'say what you found out about a payout in review', (id, options) => {
  const resolution = payoutResolution(options);
  return async (session) => (await payouts()).resolve(session, ref(id, options), resolution);
})
  .requiredOption(...BY)
  .option('--created <orderId>', 'the order exists; number and amounts are checked')
  .option('--not-created <then>', 'it does not: end, or retry (ask once more, then send again)');

verb(
  'poll <id>',
  'ask the service now',
  (id, options) => async (session) => (await payouts()).poll(session, ref(id, options)),
);

verb<Common & { orderId?: string; status?: string }>(
  'notify <id>',
  'inject a notification: a hint to ask',
  (id, { orderId, status, ...options }) =>
    async (session) =>
      (await payouts()).notify(session, ref(id, options), { orderId, status }),
)
  .option('--order-id <orderId>', "the service's order number")
  .option('--status <status>', 'what the notification claims');

verb('quote <file>', 'what the payouts in FILE would cost now', async (file) => {
  const requests = await checkedFile(file);
  return async (session) => (await payouts()).quote(session, requests);
});

// The application filters here, so it has no default.
program
  .command('list')
  .description('payouts by phase, outcome or need for attention')
  .option('--phase <phase>', 'such as PROCESSING')
  .option('--outcome <outcome>', 'such as FAILED')
  .option('--attention', 'only those that need somebody')
  .option('--app <name>', 'only of this application')
  .option('--limit <count>', 'at most so many', '50')
  .option('--json', 'print one JSON document')
  .action((options: ListOptions & { json?: true }) => {
    const [filter, limit] = [checkedFilter(options), checkedLimit(options.limit)];
    return perform(options.json, async (session) => (await lists()).list(session, filter, limit));
  });

// Of all applications, so it has none of its own.
program
  .command('report')
  .description('the payouts of a day by outcome and difference, and what is open now')
  .option('--day <YYYY-MM-DD>', 'which day (UTC); today by default')
  .option('--json', 'print one JSON document')
  .action((options: { day?: string; json?: true }) => {
    const day = checkedDay(options.day);
    return perform(options.json, async (session) => (await reports()).report(session, day));
  });

accountVerbs(verb);

verb<Common & { renew?: string; limit: string }>(
  'tokens',
  'the tokens, and who has to authorize',
  (_none, { app, renew, limit }) => {
    const most = checkedLimit(limit);
    return async (session) =>
      renew === undefined
        ? (await tokens()).listTokens(session, app, most)
        : (await tokens()).renewToken(session, app, renew);
  },
)
  .option('--renew <whose>', 'renew now: application, or the openId of a user')
  .option('--limit <count>', 'at most so many', '50');

verb<RateLimitOptions & Common>(
  'rate-limit',
  'how many calls a second, and who has them',
  (_none, options) => {
    const change = checkedRate(options);
    return async (session) => (await rateLimits()).rateLimit(session, options.app, change);
  },
)
  .option('--calls-per-second <count>', 'change it now, without a restart; or: default')
  .option('--by <name>', 'who changes it');

interface Doctor extends Common {
  clientId?: string;
  order?: string;
  payerId?: string;
  openId?: string;
}

// Its answer is worth something without an engine too.
program
  .command('doctor')
  .description('check engine, workers, keys, clocks, tokens and the payments service, and say what to do')
  .option('--app <name>', 'the application that pays', 'default')
  .option('--json', 'print one JSON document')
  .option('--client-id <id>', 'a client whose accounts may be read')
  .option('--payer-id <id>', 'a payer for whom a quote may be asked')
  .option('--order <id>', 'an existing payout to compare spellings with')
  .option('--open-id <id>', 'the user to act for, where user tokens are used')
  .action(async ({ app, json, clientId, order, payerId, openId }: Doctor) => {
    const options = { app: checkedApp(app), question: { clientId, partnerOrderId: order, payerId }, openId };
    const { doctor, withoutEngine } = await examination();
    await perform(json, (session) => doctor(session, options), withoutEngine);
  });

/** One payout or a list of them; `-` is standard input. */
async function checkedFile(file: string) {
  const bodies = readJson(file);
  return (await payoutFile()).checkedRequests(bodies, file);
}

function wantsJson(): boolean {
  return process.argv.includes('--json');
}

program.parseAsync().catch((error: unknown) => {
  if (!(error instanceof CommanderError)) return printFailure(error, wantsJson());
  if (error.exitCode === 0) return;
  if (wantsJson()) printFailure(new UsageError(error.message), true);
  process.exitCode = EXIT.badInput;
});
