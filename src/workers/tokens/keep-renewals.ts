/** Sees to it that every token of this process's applications is being renewed by somebody. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { repeat, type Surroundings } from '../../surroundings/surroundings.ts';
import { TokenRenewals } from './token-renewals.ts';

const EVERY_MS = 30_000;

/** Starts at once and looks again now and then; answers how to stop. */
export function keepRenewals(
  client: Client,
  { env, applications }: WorkerConfig,
  surroundings: Surroundings,
): () => void {
  const renewals = new TokenRenewals(client, surroundings);
  const look = () => {
    for (const app of applications.keys())
      void keepRenewalsOf(renewals, { environment: env.PAYMENTS_ENVIRONMENT, app });
  };
  look();
  return repeat(surroundings.clock, EVERY_MS, look);
}

/** What fails is tried again by the next look, and keeps nothing else from being done. */
async function keepRenewalsOf(
  renewals: TokenRenewals,
  place: { environment: string; app: string },
): Promise<void> {
  const [, failed] = await Promise.all([
    renewals.ensure(place).catch(() => undefined),
    renewals.sweep(place).catch(() => []),
  ]);
  if (failed.length > 0)
    console.error(
      `${place.app}: ${failed.length} token renewals that were ended cannot be started again yet`,
    );
}
