/**
 * What an application needs to call the provider: `tokens` and `rate-limit`. Its stop switch: `pause` and `resume`. What a
 * caller with daily limits has started: `allowance`. Whether all of it works: `doctor`.
 */
import { Argument, type Command } from '@commander-js/extra-typings';
import { PayoutsError } from '../../client/errors.ts';
import type { Pausable, RateLimit } from '../../client/leases.ts';
import type { ListedToken } from '../../client/tokens.ts';
import { EXIT } from '../../contract/errors.ts';
import { APP_NAME } from '../../contract/ids.ts';
import { formatMoney } from '../../contract/money.ts';
import type { TokenState } from '../../contract/tokens.ts';
import { command, countOf, decision, invalid, LIMIT, long, OPEN_ID, quick, REASON, YES } from './command.ts';
import { type Output, UsageError } from './output.ts';
import { attentionText, colors, facts, lines, pausedText, table, wrap } from './text.ts';

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
      quick(({ app, callsPerSecond, by }) => {
        if (callsPerSecond === undefined)
          return async ({ leases }) => rateOutput(await leases.rateLimit(app));
        if (by === undefined) throw new UsageError('--by must name who changes the rate');
        const set = callsPerSecond === 'default' ? null : callsPerSecond;
        return {
          change: `limit ${app} to ${set ?? "the workers' number of"} calls per second`,
          work: async ({ leases }) => rateOutput(await leases.setCallsPerSecond(app, set, by)),
        };
      }),
    );
  decision(program, 'pause', 'stop all create calls of an application')
    .addOption(REASON)
    .action(
      quick(({ app, ...request }) => ({
        change: `stop all create calls of ${app}`,
        work: async ({ pauses }) => pauseOutput(await pauses.pause(app, request)),
      })),
    );
  decision(program, 'resume', 'end the pause of an application').action(
    quick(({ app, by }) => ({
      change: `resume the create calls of ${app}`,
      work: async ({ pauses }) => pauseOutput(await pauses.resume(app, { by })),
    })),
  );
  // Covers all applications, so it has no --app.
  program
    .command('allowance')
    .description('show what a caller with daily limits has started on its last day (UTC)')
    .addArgument(CALLER)
    .action(
      quick((caller) => async ({ allowances }) => {
        const { unlessGone } = await import('../../temporal/client-errors.ts');
        const state = await unlessGone(() => allowances.state(caller));
        if (!state) throw new PayoutsError('NOT_FOUND', `${caller} has started nothing under daily limits`);
        const sums = state.sums.map(formatMoney).join(', ');
        const text = facts({ caller, 'day (UTC)': state.day, payouts: state.count, sums });
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
        ({ app, clientId, payerId, order: partnerOrderId, openId }) =>
          async (session) =>
            (await doctor()).doctor(session, { app, target: { clientId, partnerOrderId, payerId }, openId }),
        async (error) => (await doctor()).connectionReport(error),
      ),
    );
}

/** Commander drops a null, so `default` stays a text. */
function rateOrDefault(text: string): number | 'default' {
  return text === 'default' ? text : rate(text);
}

function tokensOutput(found: readonly ListedToken[]): Output {
  const known = (token: ListedToken): Partial<TokenState> => ('sentence' in token ? token : {});
  const text = table(
    found,
    {
      token: (token) => ('sentence' in token ? (token.openId ?? 'application') : token.workflowId),
      expires: (token) => known(token).expiresAt,
      'next renewal': (token) => known(token).renewsAt,
      'refresh token expires': (token) => known(token).refreshExpiresAt,
      renewals: (token) => known(token).renewals,
      state: tokenText,
    },
    'no tokens yet',
  );
  const isAnyStuck = found.some((token) => 'stuck' in token);
  return { json: found, text, exitCode: isAnyStuck ? EXIT.unexpected : EXIT.ok };
}

function tokenText(token: ListedToken): string {
  if ('ended' in token) return colors.yellow(`renewal ended: ${token.ended}`);
  if ('stuck' in token) return colors.yellow(wrap(`cannot be read: ${token.stuck}`));
  return lines(token.sentence, ...token.reasons.map(attentionText));
}

function pauseOutput(pausable: Pausable): Output {
  return {
    json: pausable,
    text: pausedText(pausable) ?? `${pausable.app} is not paused: waiting payouts continue within a minute`,
  };
}

function rateOutput(rateLimit: RateLimit): Output {
  const { app, callsPerSecond, inForce, changedBy, owner, paused } = rateLimit;
  const configured = "the workers' configuration";
  const text = facts({
    application: app,
    'calls per second': callsPerSecond ?? (inForce === null ? configured : `${inForce}, ${configured}`),
    'set by': changedBy,
    owner: owner ?? 'none at the moment',
    paused: paused && `by ${paused.by}, ${paused.at}`,
  });
  return { json: rateLimit, text };
}
