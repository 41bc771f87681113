/** `npm run payouts -- <verb>`: the command line. Connects to Temporal only. */
import { Command, CommanderError } from 'commander';
import type { PayoutRef, Payouts } from '../../client/payouts.ts';
import type { PayoutState } from '../../contract/payout.ts';
import type { ApprovalDecision } from '../../contract/workflows.ts';
import { accountVerbs } from './account-verbs.ts';
import { EXIT, UsageError } from './answer.ts';
import { batchVerbs } from './batch-verbs.ts';
import { endWithReader } from './closed-reader.ts';
import { completionVerb } from './completion.ts';
import { eventVerbs } from './event-verbs.ts';
import { withPayouts } from './files.ts';
import {
  checkedApp,
  checkedCaller,
  checkedDay,
  checkedFilter,
  checkedLimit,
  checkedPage,
  checkedRate,
  checkedReason,
  checkedSettings,
  checkedTimeout,
  checkedTolerance,
  type ListOptions,
  payoutResolution,
  type RateLimitOptions,
  type ResolveOptions,
  type SettingsOptions,
} from './options.ts';
import type { StartOptions } from './payout-verbs.ts';
import { printFailure } from './print-failure.ts';
import {
  type Common,
  type Confirmable,
  confirmed,
  DECIDED_BY,
  PROFILE,
  perform,
  repeatable,
  SENDS,
  STARTED_BY,
  verbsOf,
  type Work,
  withOutput,
  withPages,
  YES,
} from './verb.ts';

// Modules are loaded after the input is validated: imports take most of the CPU time of a call.
const payoutFile = () => import('./payout-file.ts');
const payoutVerbs = () => import('./payout-verbs.ts');
const listVerb = () => import('./list-verb.ts');
const reportVerb = () => import('./report-verb.ts');
const applicationVerbs = () => import('./application-verbs.ts');
const settingsVerb = () => import('./settings-verb.ts');
const approvalsFile = () => import('./approvals-file.ts');
const doctorVerb = () => import('./doctor.ts');

const HELP_TAIL = `
Exit codes: 0 done; 1 unexpected error, or Temporal does not respond; 2 bad input; 3 no such payout;
4 refused; 5 a payout did not end as SUCCESS; 6 doctor found problems.

Examples:
  payouts start payout.json --wait
  payouts start payout.json --dry-run
  payouts status ORDER-1 --json
  payouts --profile staging watch ORDER-1
  payouts batch payouts.ndjson --watch
  payouts resolve ORDER-1 --by olga --not-created retry`;

const program = new Command('payouts')
  .description('start, steer and read cross-border payouts')
  .addHelpText('after', HELP_TAIL)
  .exitOverride()
  .option(...PROFILE)
  // Options after a verb belong to that verb or to its subcommand.
  .enablePositionalOptions()
  .configureOutput({ writeErr: (text) => void (wantsJson() || process.stderr.write(text)) });

const verb = verbsOf(program);

const ref = (partnerOrderId: string, { app }: Common) => ({ app, partnerOrderId });

const steer =
  (payout: PayoutRef, send: (payouts: Payouts, payout: PayoutRef) => Promise<PayoutState>): Work =>
  async (session) =>
    (await payoutVerbs()).steer(session, payout, (payouts) => send(payouts, payout));

verb<Common & Confirmable & StartOptions & { dryRun?: true }>(
  'start <file>',
  'start or join the payouts in FILE (one, or a list; - for standard input)',
  async (file, options) => {
    const requests = await checkedFile(file);
    if (options.dryRun) return async (session) => (await payoutVerbs()).quote(session, requests);
    const { paymentText } = await payoutFile();
    return confirmed(options, paymentText(requests), async (session) =>
      (await payoutVerbs()).start(session, requests, options),
    );
  },
)
  .option(...YES)
  .option('--dry-run', 'show quotes; create nothing')
  .option('--wait', 'wait for the results')
  .option(...STARTED_BY);

batchVerbs(verb);

verb<Common & { wait?: true; timeout?: string }>(
  'status <id>',
  'show the state of a payout',
  (id, options) => {
    const waiting = { ...(options.wait && { wait: options.wait }), waitMs: checkedTimeout(options) };
    return async (session) => (await payoutVerbs()).status(session, ref(id, options), waiting);
  },
)
  .option('--wait', 'wait for the end first')
  .option('--timeout <duration>', 'wait at most so long, such as 30s or 10m');
verb<Common & { json?: true }>(
  'watch <id>',
  'show each change of a payout up to its end; with --json, one line each',
  (id, options) => async (session) =>
    (await payoutVerbs()).watch(session, ref(id, options), options.json === true),
);
verb(
  'result <id>',
  'wait for the end of a payout and show its result',
  (id, options) => async (session) => (await payoutVerbs()).result(session, ref(id, options)),
);

for (const decide of ['approve', 'refuse'] as const) {
  const added = verb<Common & Confirmable & ApprovalDecision>(
    `${decide} <id>`,
    `${decide} a payout`,
    (id, { by, note, lockRateId, tolerance, ...rest }) =>
      confirmed(
        rest,
        `${decide} payout ${id}`,
        steer(ref(id, rest), (payouts, payout) =>
          payouts[decide](payout, { by, note, lockRateId, ...(tolerance !== undefined && { tolerance }) }),
        ),
      ),
  )
    .option(...YES)
    .requiredOption(...DECIDED_BY)
    .option('--note <text>', 'the reason')
    .option('--lock-rate-id <id>', 'the lock of the quote that you have seen: counts for no other quote');
  if (decide === 'approve')
    added.option(
      '--tolerance <percent>',
      'how much more a later quote may cost, such as 0.5',
      checkedTolerance,
    );
}

verb<Common & Confirmable & { by: string; reason?: string }>(
  'cancel <id>',
  'cancel a payout before its create begins',
  (id, { by, reason, ...rest }) =>
    confirmed(
      rest,
      `cancel payout ${id}`,
      steer(ref(id, rest), (payouts, payout) => payouts.cancel(payout, { by, reason })),
    ),
)
  .option(...YES)
  .requiredOption(...DECIDED_BY)
  .option('--reason <text>', 'the reason');

verb<Common & Confirmable & ResolveOptions>('resolve <id>', 'resolve a payout in review', (id, options) => {
  const resolution = payoutResolution(options);
  return confirmed(
    options,
    `resolve payout ${id}`,
    steer(ref(id, options), (payouts, payout) => payouts.resolve(payout, resolution)),
  );
})
  .option(...YES)
  .requiredOption(...DECIDED_BY)
  .option('--created <orderId>', 'the order exists; ids and amounts are compared first')
  .option('--trade-order-id <orderId>', 'an order to review: the number of this order in the trade queries')
  .option('--not-created <then>', 'no order exists: end, or retry (confirm once more, then send again)')
  .option(
    '--reviewed-order-id <orderId>',
    'an order to review that is not of this payout; repeat it for each',
    repeatable,
  )
  .option(...SENDS);

verb<Common & Confirmable & { by: string; note?: string }>(
  'acknowledge <id>',
  'acknowledge the flags of a payout that has ended: they leave the lists',
  (id, { by, note, ...rest }) =>
    confirmed(
      rest,
      `acknowledge the flags of payout ${id}`,
      steer(ref(id, rest), (payouts, payout) => payouts.acknowledge(payout, { by, note })),
    ),
)
  .option(...YES)
  .requiredOption('--by <name>', 'who has seen the flags')
  .option('--note <text>', 'what was found or done');

verb('poll <id>', 'poll the provider now', (id, options) =>
  steer(ref(id, options), (payouts, payout) => payouts.poll(payout)),
);

verb<Common & { orderId?: string; status?: string }>(
  'notify <id>',
  'send a notification; the payout then queries the provider',
  (id, { orderId, status, ...options }) =>
    async (session) =>
      (await payoutVerbs()).notify(session, ref(id, options), { orderId, status }),
)
  .option('--order-id <orderId>', "the provider's order id")
  .option('--status <status>', 'the status in the notification');

verb('quote <file>', 'quote the payouts in FILE', async (file) => {
  const requests = await checkedFile(file);
  return async (session) => (await payoutVerbs()).quote(session, requests);
});

// Here --app is a filter without a default.
withPages(withOutput(program.command('list')))
  .description('list payouts by phase, outcome, attention flag or time')
  .option('--phase <phase>', 'such as PROCESSING')
  .option('--outcome <outcome>', 'such as FAILED')
  .option('--attention', 'only payouts with the attention flag')
  .option('--client-id <id>', 'only payouts of this client')
  .option('--app <name>', 'only this application')
  .action((options: ListOptions, command: Command) => {
    const [filter, page] = [checkedFilter(options), checkedPage(options)];
    return perform(command, async (session) => (await listVerb()).list(session, filter, page));
  });

// Covers all applications, so it has no --app.
withOutput(program.command('report'))
  .description('report the payouts of a day by outcome, their changes after the end, and the open payouts')
  .option('--day <YYYY-MM-DD>', 'the day (UTC); default: today')
  .action((options: { day?: string }, command: Command) => {
    const day = checkedDay(options.day);
    return perform(command, async (session) => (await reportVerb()).report(session, day));
  });

accountVerbs(verb);
eventVerbs(verb);

verb<Common & { renew?: string; limit: string }>(
  'tokens',
  'show the tokens, and who must authorize',
  (_none, { app, renew, limit: text }) => {
    const limit = checkedLimit(text);
    return async (session) => (await applicationVerbs()).tokens(session, { app, renew, limit });
  },
)
  .option('--renew <owner>', 'renew now: application, or the openId of a user')
  .option('--limit <count>', 'the maximum number of rows', '50');

verb<RateLimitOptions & Common & Confirmable>(
  'rate-limit',
  'show the calls per second and the lease owner, or change the rate',
  (_none, options) => {
    const change = checkedRate(options);
    const work: Work = async (session) => (await applicationVerbs()).rateLimit(session, options.app, change);
    if (change === undefined) return work;
    const rate = change.callsPerSecond ?? "the workers' number of";
    return confirmed(options, `limit ${options.app} to ${rate} calls per second`, work);
  },
)
  .option(...YES)
  .option('--calls-per-second <count>', 'set the rate without a restart; default resets it')
  .option('--by <name>', 'who changes it');

verb<Common & Confirmable & { by: string; reason?: string }>(
  'pause',
  'stop all create calls of an application',
  (_none, options) => {
    const { app, by } = options;
    const reason = checkedReason(options.reason);
    return confirmed(options, `stop all create calls of ${app}`, async (session) =>
      (await applicationVerbs()).pause(session, app, { by, reason }),
    );
  },
)
  .option(...YES)
  .requiredOption(...DECIDED_BY)
  .option('--reason <text>', 'the reason');

verb<Common & Confirmable & { by: string }>(
  'resume',
  'end the pause of an application',
  (_none, { app, by, ...rest }) =>
    confirmed(rest, `resume the create calls of ${app}`, async (session) =>
      (await applicationVerbs()).resume(session, app, by),
    ),
)
  .option(...YES)
  .requiredOption(...DECIDED_BY);

// Here --app is a filter without a default.
withOutput(program.command('settings'))
  .description('show the settings that all processes share, or change them')
  .option('--app <name>', 'only this application')
  .option('--app-id <id>', 'with --app: also if Temporal does not list it')
  .option('--first', 'with --app-id: change nothing if there are settings')
  .option('--approvals <file>', 'which payouts require an approval; none: only the request decides')
  .option('--recovered-at <time>', 'when Temporal last lost something: a time, now, or never')
  .option('--by <name>', 'who changes them')
  .option('--reason <text>', 'why')
  .option(...YES)
  .action(async (options: SettingsOptions & Confirmable, command: Command) => {
    const change = checkedSettings(options);
    if (options.app !== undefined) checkedApp(options.app);
    const file = change?.approvals ? (await approvalsFile()).approvalsOf(change.approvals) : undefined;
    const work: Work = async (session) =>
      (await settingsVerb()).settings(session, options, change && { ...change, file });
    const of = options.app ?? 'all applications';
    await perform(command, change ? confirmed(options, `change the shared settings of ${of}`, work) : work);
  });

// Covers all applications, so it has no --app.
withOutput(program.command('allowance <caller>'))
  .description('show what a caller with daily limits has started on its last day (UTC)')
  .action((caller: string, _options: object, command: Command) => {
    const name = checkedCaller(caller);
    return perform(command, async (session) => (await applicationVerbs()).allowance(session, name));
  });

type Doctor = Common & { json?: true; clientId?: string; order?: string; payerId?: string; openId?: string };

// Also answers if Temporal does not respond.
withOutput(program.command('doctor'))
  .description('check Temporal, workers, keys, clocks, tokens and the provider, and advise')
  .option('--app <name>', 'the application', 'default')
  .option('--client-id <id>', 'a client whose accounts may be read')
  .option('--payer-id <id>', 'a payer for whom a quote may be requested')
  .option('--order <id>', 'the partnerOrderId of an existing payout, to compare field names')
  .option('--open-id <id>', 'the user, if user tokens are used')
  .action(async ({ app, json, clientId, order, payerId, openId }: Doctor, command: Command) => {
    const target = { clientId, partnerOrderId: order, payerId };
    const options = { app: checkedApp(app), target, openId, json: json === true };
    const { doctor, connectionReport } = await doctorVerb();
    await perform(command, (session) => doctor(session, options), connectionReport);
  });

completionVerb(program);

async function checkedFile(file: string) {
  const { checkedRequests } = await payoutFile();
  return withPayouts(file, checkedRequests, 'json');
}

function wantsJson(): boolean {
  return process.argv.includes('--json');
}

endWithReader();
program.parseAsync().catch((error: unknown) => {
  if (!(error instanceof CommanderError)) return printFailure(error, wantsJson());
  if (error.exitCode === 0) return;
  process.exitCode = EXIT.badInput;
  if (wantsJson()) printFailure(new UsageError(error.message), true);
});
