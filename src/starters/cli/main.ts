/** `npm run payouts -- <verb>`: the command line. Talks to Temporal only. */
import { Command, CommanderError } from 'commander';
import { accountVerbs } from './account-verbs.ts';
import { EXIT, printFailure, UsageError } from './answer.ts';
import { type BatchOptions, batch } from './batch-verb.ts';
import { doctor, withoutEngine } from './doctor.ts';
import { checkedApp, type ListFilter, list } from './list-verbs.ts';
import * as verbs from './payout-verbs.ts';
import { type RateLimitOptions, rateLimit } from './rate-limit-verb.ts';
import { type ReportOptions, report } from './report-verb.ts';
import { inSession } from './session.ts';
import { type TokenOptions, tokens } from './token-verb.ts';
import { BY, type Common, STARTER, verbsOf } from './verb.ts';

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
  (session, file, { dryRun, wait, by }) =>
    dryRun ? verbs.quote(session, file) : verbs.start(session, file, wait === true, by),
)
  .option('--dry-run', 'ask for quotes and show them; create nothing')
  .option('--wait', 'wait for the results')
  .option(...STARTER);

verb<BatchOptions & Common>('batch <file>', 'pay all of FILE, a JSON array or one payout a line', batch)
  .option(
    '--batch-id <id>',
    'the batch; by default named by its rows, so that the same file is the same batch',
  )
  .option(...STARTER)
  .option('--watch', 'show the progress and wait for the end');

verb('status <id>', 'where a payout stands', (session, id, options) =>
  verbs.status(session, ref(id, options)),
);
verb('result <id>', 'wait for the end and show it', (session, id, options) =>
  verbs.result(session, ref(id, options)),
);

verb<Common & { by: string; note?: string }>('approve <id>', 'approve the quote', (session, id, options) =>
  verbs.approve(session, ref(id, options), options.by, options.note),
)
  .requiredOption(...BY)
  .option('--note <text>', 'why');

verb<Common & { by: string; note?: string }>('refuse <id>', 'refuse the quote', (session, id, options) =>
  verbs.refuse(session, ref(id, options), options.by, options.note),
)
  .requiredOption(...BY)
  .option('--note <text>', 'why');

verb<Common & { by: string; reason?: string }>(
  'cancel <id>',
  'cancel before the creation begins; refused after',
  (session, id, options) => verbs.cancel(session, ref(id, options), options.by, options.reason),
)
  .requiredOption(...BY)
  .option('--reason <text>', 'why');

verb<Common & { by: string; created?: string; notCreated?: string }>(
  'resolve <id>',
  'say what you found out about a payout in review',
  (session, id, options) =>
    verbs.resolve(
      session,
      ref(id, options),
      verbs.resolutionOf(options.by, options.created, options.notCreated),
    ),
)
  .requiredOption(...BY)
  .option('--created <orderId>', 'the order exists; number and amounts are checked')
  .option('--not-created <then>', 'it does not: end, or retry (ask once more, then send again)');

verb('poll <id>', 'ask the service now', (session, id, options) => verbs.poll(session, ref(id, options)));

verb<Common & { orderId?: string; status?: string }>(
  'notify <id>',
  'inject a notification: a hint to ask',
  (session, id, options) =>
    verbs.notify(session, ref(id, options), { orderId: options.orderId, status: options.status }),
)
  .option('--order-id <orderId>', "the service's order number")
  .option('--status <status>', 'what the notification claims');

verb('quote <file>', 'what the payouts in FILE would cost now', (session, file) =>
  verbs.quote(session, file),
);

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
  .action((options: ListFilter & { json?: true }) =>
    inSession(options.json === true, (session) => list(session, options)),
  );

// Of all applications, so it has none of its own.
program
  .command('report')
  .description('the payouts of a day by outcome and difference, and what is open now')
  .option('--day <YYYY-MM-DD>', 'which day (UTC); today by default')
  .option('--json', 'print one JSON document')
  .action((options: ReportOptions & { json?: true }) =>
    inSession(options.json === true, (session) => report(session, options)),
  );

accountVerbs(verb);

verb<Common & TokenOptions>('tokens', 'the tokens, and who has to authorize', (session, _none, options) =>
  tokens(session, options),
)
  .option('--renew <whose>', 'renew now: application, or the openId of a user')
  .option('--limit <count>', 'at most so many', '50');

verb<RateLimitOptions & Common>(
  'rate-limit',
  'how many calls a second, and who has them',
  (session, _none, options) => rateLimit(session, options),
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
  .action(({ app, json, clientId, order, payerId, openId }: Doctor) => {
    const options = { app: checkedApp(app), question: { clientId, partnerOrderId: order, payerId }, openId };
    return inSession(json === true, (session) => doctor(session, options), withoutEngine);
  });

function wantsJson(): boolean {
  return process.argv.includes('--json');
}

program.parseAsync().catch((error: unknown) => {
  if (!(error instanceof CommanderError)) return printFailure(error, wantsJson());
  if (error.exitCode === 0) return;
  if (wantsJson()) printFailure(new UsageError(error.message), true);
  process.exitCode = EXIT.badInput;
});
