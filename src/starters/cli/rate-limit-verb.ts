/** `rate-limit`: shows the rate limit and the lease owner of an application, and changes the rate without a restart. */
import { type RateLimit, RateLimits } from '../../client/rate-limits.ts';
import { type Answer, UsageError } from './answer.ts';
import type { RateChange } from './options.ts';
import type { Session } from './session.ts';
import { facts } from './text.ts';

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

function answer(rateLimit: RateLimit): Answer {
  const { app, callsPerSecond, changedBy, owner } = rateLimit;
  return {
    json: rateLimit,
    text: facts([
      ['application', app],
      ['calls per second', callsPerSecond === null ? "the workers' configuration" : `${callsPerSecond}`],
      ['set by', changedBy ?? undefined],
      ['owner', owner ?? 'none at the moment'],
    ]),
  };
}
