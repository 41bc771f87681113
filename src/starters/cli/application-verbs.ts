/**
 * `tokens` and `rate-limit`: what an application needs to call the provider. Renews a token, and changes the rate.
 * `pause` and `resume`: its stop switch. `allowance`: what a caller with daily limits has started.
 */
import { Allowances } from '../../client/allowances.ts';
import { type Pausable, Pauses } from '../../client/pauses.ts';
import { type RateLimit, RateLimits } from '../../client/rate-limits.ts';
import { type ListedToken, Tokens } from '../../client/tokens.ts';
import { formatMoney } from '../../contract/money.ts';
import type { PauseRequest } from '../../contract/rate-limit.ts';
import { PROCESS_SURROUNDINGS } from '../../runtime/process.ts';
import { type Answer, EXIT, UsageError } from './answer.ts';
import type { RateChange } from './options.ts';
import type { Session } from './session.ts';
import { attentionText, colors, facts, grid, pausedText, wrap } from './text.ts';

/** With `renew`, `application` or the openId of a user, renews that token and shows only it. */
export async function tokens(
  { client, withDeadline }: Session,
  { app, renew, limit }: { app: string; renew?: string | undefined; limit: number },
): Promise<Answer> {
  const known = new Tokens(client);
  const openId = renew === 'application' ? undefined : renew;
  const found = await withDeadline(async () =>
    renew === undefined ? known.list(app, limit) : [await known.renew(app, openId)],
  );
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

export async function rateLimit(
  { client, environment, withDeadline }: Session,
  app: string,
  change: RateChange | undefined,
): Promise<Answer> {
  if (environment === undefined) throw new UsageError('PAYMENTS_ENVIRONMENT is missing');
  const rateLimits = new RateLimits(client, environment);
  if (change === undefined) return answer(await withDeadline(() => rateLimits.state(app)));
  return answer(
    await withDeadline(() => rateLimits.setCallsPerSecond(app, change.callsPerSecond, change.by)),
  );
}

export async function allowance(
  { client, environment, withDeadline }: Session,
  caller: string,
): Promise<Answer> {
  if (environment === undefined) throw new UsageError('PAYMENTS_ENVIRONMENT is missing');
  const allowances = new Allowances(client, environment, PROCESS_SURROUNDINGS.clock);
  const state = await withDeadline(() => allowances.state(caller));
  const { day, count, sums } = state;
  return {
    json: { caller, ...state },
    text: facts([
      ['caller', caller],
      ['day (UTC)', day],
      ['payouts', `${count}`],
      ['sums', sums.map(formatMoney).join(', ')],
    ]),
  };
}

export async function pause(session: Session, app: string, request: PauseRequest): Promise<Answer> {
  return pauseAnswer(await session.withDeadline(() => pausesOf(session).pause(app, request)));
}

export async function resume(session: Session, app: string, by: string): Promise<Answer> {
  return pauseAnswer(await session.withDeadline(() => pausesOf(session).resume(app, { by })));
}

function pausesOf({ client, environment }: Session): Pauses {
  if (environment === undefined) throw new UsageError('PAYMENTS_ENVIRONMENT is missing');
  return new Pauses({ client, environment });
}

function pauseAnswer(pausable: Pausable): Answer {
  return {
    json: pausable,
    text: pausedText(pausable) ?? `${pausable.app} is not paused: waiting payouts continue within a minute`,
  };
}

function answer(rateLimit: RateLimit): Answer {
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
