/** Sees to it that every token of this process's applications is being renewed by somebody. */
import type { Client } from '@temporalio/client';
import type { WorkerConfig } from '../../config/config.ts';
import { TokenRenewals } from './token-renewals.ts';

const EVERY_MS = 30_000;

/** Starts at once and looks again now and then; answers how to stop. */
export function keepRenewals(client: Client, { env, applications }: WorkerConfig): () => void {
  const renewals = new TokenRenewals(client);
  const places = [...applications.keys()].map((app) => ({ environment: env.PAYMENTS_ENVIRONMENT, app }));
  const look = async () => {
    for (const place of places) {
      await renewals.ensure(place);
      await renewals.sweep(place);
    }
  };
  // Temporal being away is no reason to die: the next look is the retry.
  const lookQuietly = () => void look().catch(() => undefined);
  lookQuietly();
  const timer = setInterval(lookQuietly, EVERY_MS);
  return () => clearInterval(timer);
}
