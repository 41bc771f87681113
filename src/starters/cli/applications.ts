/**
 * What an application needs to call the provider: `tokens` and `rate-limit`. Its stop switch: `pause` and `resume`. What a
 * caller with daily limits has started: `allowance`. Whether all of it works: `doctor`.
 */
import { Argument, type Command } from '@commander-js/extra-typings';
import type { Pausable } from '../../client/pauses.ts';
import type { RateLimit } from '../../client/rate-limits.ts';
import type { ListedToken } from '../../client/tokens.ts';
import { APP_NAME } from '../../contract/ids.ts';
import { formatMoney } from '../../contract/money.ts';
import {
  command,
  confirmed,
  countOf,
  DECIDED_BY,
  invalid,
  LIMIT,
  long,
  OPEN_ID,
  quick,
  REASON,
  YES,
} from './command.ts';
import { EXIT, type Output, UsageError } from './output.ts';
import { attentionText, colors, facts, grid, pausedText, wrap } from './text.ts';

/** A name in the keys file, or that of Nexus calls to an application. */
const CALLER = new Argument('<caller>', 'its name in PAYOUTS_API_KEYS_FILE, or nexus:APP').argParser(
  (name) => {
    if (APP_NAME.test(name.replace(/^nexus:/, ''))) return name;
    throw invalid('must be 1 to 32 lowercase letters, digits and hyphens, or nexus:APP');
  },
);
const rate = countOf(1, 10_000);

export function applicationCommands(program: Command): void {
  command(program, 'tokens', 'show the tokens, and who must authorize')
    .option('--renew <owner>', 'renew now: application, or the openId of a user')
    .addOption(LIMIT)
    .action(
      quick(({ app, renew, limit }) => async ({ tokens }) => {
        if (renew === undefined) return tokensOutput(await tokens.list(app, limit));
        return tokensOutput([await tokens.renew(app, renew === 'application' ? undefined : renew)]);
      }),
    );
  command(program, 'rate-limit', 'show the calls per second and the lease owner, or change the rate')
    .addOption(YES)
    .option('--calls-per-second <count>', 'set the rate without a restart; default resets it', rateOrDefault)
    .option('--by <name>', 'who changes it')
    .action(
      quick(({ app, yes, callsPerSecond, by }) => {
        if (callsPerSecond === undefined)
          return async ({ rateLimits }) => rateOutput(await rateLimits.state(app));
        if (by === undefined) throw new UsageError('--by must name who changes the rate');
        const rate = callsPerSecond === 'default' ? null : callsPerSecond;
        const text = `limit ${app} to ${rate ?? "the workers' number of"} calls per second`;
        return confirmed({ yes }, text, async ({ rateLimits }) =>
          rateOutput(await rateLimits.setCallsPerSecond(app, rate, by)),
        );
      }),
    );
  command(program, 'pause', 'stop all create calls of an application')
    .addOption(YES)
    .addOption(DECIDED_BY)
    .addOption(REASON)
    .action(
      quick(({ app, yes, ...request }) =>
        confirmed({ yes }, `stop all create calls of ${app}`, async ({ pauses }) =>
          pauseOutput(await pauses.pause(app, request)),
        ),
      ),
    );
  command(program, 'resume', 'end the pause of an application')
    .addOption(YES)
    .addOption(DECIDED_BY)
    .action(
      quick(({ app, yes, by }) =>
        confirmed({ yes }, `resume the create calls of ${app}`, async ({ pauses }) =>
          pauseOutput(await pauses.resume(app, { by })),
        ),
      ),
    );
  // Covers all applications, so it has no --app.
  program
    .command('allowance')
    .description('show what a caller with daily limits has started on its last day (UTC)')
    .addArgument(CALLER)
    .action(
      quick((caller) => async ({ allowances }) => {
        const state = await allowances.state(caller);
        const text = facts([
          ['caller', caller],
          ['day (UTC)', state.day],
          ['payouts', `${state.count}`],
          ['sums', state.sums.map(formatMoney).join(', ')],
        ]);
        return { json: { caller, ...state }, text };
      }),
    );
}

/** Works without a connection, too. */
export function doctorCommand(program: Command): void {
  const doctor = () => import('./doctor.ts');
  command(program, 'doctor', 'check Temporal, workers, keys, clocks, tokens and the provider, and advise')
    .option('--client-id <id>', 'a client whose accounts may be read')
    .option('--payer-id <id>', 'a payer for whom a quote may be requested')
    .option('--order <id>', 'the partnerOrderId of an existing payout, to compare field names')
    .addOption(OPEN_ID)
    .action(
      long(
        ({ app, clientId, payerId, order, openId }) =>
          async (session) => {
            const target = { clientId, partnerOrderId: order, payerId };
            return (await doctor()).doctor(session, { app, target, openId });
          },
        async (error) => (await doctor()).connectionReport(error),
      ),
    );
}

/** Commander drops a null, so `default` stays a text. */
function rateOrDefault(text: string): number | 'default' {
  return text === 'default' ? text : rate(text);
}

function tokensOutput(found: readonly ListedToken[]): Output {
  const head = ['token', 'expires', 'next renewal', 'refresh token expires', 'renewals', 'state'];
  const text = found.length === 0 ? 'no tokens yet' : grid(head, found.map(row));
  const isAnyStuck = found.some((token) => 'stuck' in token);
  return { json: found, text, exitCode: isAnyStuck ? EXIT.unexpected : EXIT.ok };
}

function row(token: ListedToken): string[] {
  if ('ended' in token)
    return [token.workflowId, '', '', '', '', colors.yellow(`renewal ended: ${token.ended}`)];
  if ('stuck' in token)
    return [token.workflowId, '', '', '', '', colors.yellow(wrap(`cannot be read: ${token.stuck}`))];
  const { openId, expiresAt = '', renewsAt = '', refreshExpiresAt = '', renewals } = token;
  const state = [token.sentence, ...token.reasons.map(attentionText)].join('\n');
  return [openId ?? 'application', expiresAt, renewsAt, refreshExpiresAt, `${renewals}`, state];
}

function pauseOutput(pausable: Pausable): Output {
  return {
    json: pausable,
    text: pausedText(pausable) ?? `${pausable.app} is not paused: waiting payouts continue within a minute`,
  };
}

function rateOutput(rateLimit: RateLimit): Output {
  const { app, changedBy, owner, paused } = rateLimit;
  return {
    json: rateLimit,
    text: facts([
      ['application', app],
      ['calls per second', rateText(rateLimit)],
      ['set by', changedBy ?? undefined],
      ['owner', owner ?? 'none at the moment'],
      ['paused', paused ? `by ${paused.by}, ${paused.at}` : undefined],
    ]),
  };
}

function rateText({ callsPerSecond, inForce }: RateLimit): string {
  if (callsPerSecond !== null) return `${callsPerSecond}`;
  return inForce === null ? "the workers' configuration" : `${inForce}, the workers' configuration`;
}
