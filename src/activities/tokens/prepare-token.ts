/** What a token's renewal and a user's authorization need to know of the configuration; no API call. */
import { z } from 'zod';
import type { WorkerConfig } from '../../config/config.ts';
import { appName } from '../../contract/payout-request.ts';
import { authorizationUrl } from '../../payments/index.ts';
import { invalid, NOT_CONFIGURED } from '../shared/invalid.ts';
import type { TokenPlan } from '../shared/types.ts';

const ownerSchema = z.object({ environment: z.string(), app: appName });

export function tokenPlan(config: WorkerConfig, owner: unknown): TokenPlan {
  ownerHere(config, owner);
  return { callTimeoutMs: config.env.PAYMENTS_CALL_TIMEOUT };
}

/** Without `state`, which only the browser and the API server know. */
export function authorizationLink(config: WorkerConfig, owner: unknown): string {
  const { appId, redirectUri } = ownerHere(config, owner);
  if (redirectUri === undefined)
    throw invalid([{ path: 'app', message: 'has no redirect URI: set PAYMENTS_REDIRECT_URI' }]);
  const { PAYMENTS_AUTH_URL: authUrl, PAYMENTS_AUTH_SPELLING: spelling } = config.env;
  return authorizationUrl({ appId, authUrl, redirectUri }, { spelling }).toString();
}

function ownerHere({ env, applications }: WorkerConfig, owner: unknown) {
  const parsed = ownerSchema.safeParse(owner);
  const application = parsed.success ? applications.get(parsed.data.app) : undefined;
  if (!parsed.success || !application) throw invalid([NOT_CONFIGURED]);
  if (parsed.data.environment !== env.PAYMENTS_ENVIRONMENT)
    throw invalid([{ path: 'environment', message: `this is ${env.PAYMENTS_ENVIRONMENT}` }]);
  return { ...application, app: application.name };
}
