/** How a batch starts its payouts, and how it hears what has become of them. */
import { ApplicationFailure, activityInfo } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ApplicationFailureCategory } from '@temporalio/common';
import { Payouts } from '../../client/payouts.ts';
import type { WorkerConfig } from '../../config/config.ts';
import type { Clock } from '../../surroundings/surroundings.ts';
import { withHeartbeats } from '../shared/heartbeats.ts';
import { batchChecks } from './batch-checks.ts';
import type { BatchActivities, BatchChecks, LookAtPayouts, RowNews } from './batch-types.ts';
import { described, type LookingEngine, movedPayouts } from './look-at-payouts.ts';
import { startPayouts } from './start-payouts.ts';

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 15_000;
const GROWTH = 1.6;
/** Some news are told once this many looks, about 8 s, have not brought enough. */
const PATIENCE_LOOKS = 6;
/** About every ten minutes, once the waits have grown. */
const ASK_EACH_EVERY_LOOKS = 20;

export function batchActivities(
  config: WorkerConfig,
  client: Client,
  clock: Clock,
): BatchChecks & BatchActivities {
  const environment = config.env.PAYMENTS_ENVIRONMENT;
  const payouts = new Payouts({ client, environment, clock });
  return {
    ...batchChecks(config),
    startPayouts: (rows) => {
      refuseOtherEnvironment(rows.environment, environment);
      return withHeartbeats(clock, () => startPayouts(payouts, rows));
    },
    lookAtPayouts: (look) =>
      withHeartbeats(clock, () => enoughNews({ client, clock }, look, activityInfo().attempt)),
  };
}

/** Else its payouts would be recorded as meant for here. */
function refuseOtherEnvironment(meant: string, environment: string): void {
  if (meant === environment) return;
  const message = `this worker serves ${environment}, the batch is for ${meant}`;
  throw ApplicationFailure.create({ type: 'WRONG_WORKER', message });
}

/** Retries are the waiting: they write no history, hold no slot meanwhile, and survive every restart. */
async function enoughNews(
  engine: LookingEngine,
  { app, open, enough }: LookAtPayouts,
  looks: number,
): Promise<RowNews[]> {
  const ask = looks % ASK_EACH_EVERY_LOOKS === 0 ? described : movedPayouts;
  const news = await ask(engine, app, open);
  if (news.length >= enough || (news.length > 0 && looks >= PATIENCE_LOOKS)) return news;
  throw ApplicationFailure.create({
    type: 'NOTHING_NEW',
    message: 'too little has happened yet; looks again',
    category: ApplicationFailureCategory.BENIGN,
    nextRetryDelay: Math.min(FIRST_WAIT_MS * GROWTH ** Math.min(looks, PATIENCE_LOOKS * 2), LONGEST_WAIT_MS),
  });
}
