/** `rate-limit`: shows an application's rate limit and lease owner, and changes the rate without a restart. */
import { type RateLimit, RateLimits } from '../../client/rate-limits.ts';
import { type Answer, UsageError } from './answer.ts';
import type { RateChange } from './options.ts';
import type { Session } from './session.ts';
import { facts } from './text.ts';

export async function rateLimit(
  { client, environment, soon }: Session,
  app: string,
  change: RateChange | undefined,
): Promise<Answer> {
  if (environment === undefined) throw new UsageError('PAYMENTS_ENVIRONMENT: must name the environment');
  const rateLimits = new RateLimits(client, environment);
  if (change === undefined) return answer(await soon(() => rateLimits.state(app)));
  return answer(await soon(() => rateLimits.setCallsPerSecond(app, change.callsPerSecond, change.by)));
}

function answer(rateLimit: RateLimit): Answer {
  const { app, callsPerSecond, changedBy, owner } = rateLimit;
  return {
    json: rateLimit,
    text: facts([
      ['application', app],
      ['calls a second', callsPerSecond === null ? "by the workers' configuration" : `${callsPerSecond}`],
      ['set by', changedBy ?? undefined],
      ['owner', owner ?? 'none just now'],
    ]),
  };
}
