/** What token renewals and authorizations need from the configuration. No calls to the provider. */
import { z } from 'zod';
import type { WorkerConfig } from '../../config/config.ts';
import { appName } from '../../contract/payout-request.ts';
import { authorizationUrl } from '../../payments/index.ts';
import { invalid, NOT_CONFIGURED, notHere } from '../shared/invalid.ts';
import type { TokenPlan } from '../shared/types.ts';

const ownerSchema = z.object({ environment: z.string(), app: appName });

export function tokenPlan(config: WorkerConfig, owner: unknown): TokenPlan {
  applicationOf(config, owner);
  return { callTimeoutMs: config.env.PAYMENTS_CALL_TIMEOUT };
}

/** Without `state`, which only the browser and the API server know. */
export function authorizationLink(config: WorkerConfig, owner: unknown): string {
  const { appId, redirectUri } = applicationOf(config, owner);
  if (redirectUri === undefined)
    throw invalid([{ path: 'app', message: 'has no redirect URI: set PAYMENTS_REDIRECT_URI' }]);
  const { PAYMENTS_AUTH_URL: authUrl, PAYMENTS_AUTH_SPELLING: spelling } = config.env;
  return authorizationUrl({ appId, authUrl, redirectUri }, { spelling }).toString();
}

function applicationOf(config: WorkerConfig, owner: unknown) {
  const { success, data } = ownerSchema.safeParse(owner);
  const application = success ? config.applications.get(data.app) : undefined;
  if (!success || !application) throw invalid([NOT_CONFIGURED]);
  const problems = notHere(config, data.app, data.environment);
  if (problems.length > 0) throw invalid(problems);
  return application;
}
