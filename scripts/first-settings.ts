/** What an operator does before the first worker of an application may create anything. */
import type { Client } from '@temporalio/client';
import { SharedSettingsOf } from '../src/client/shared-settings.ts';
import { type Application, readApplications } from '../src/config/applications.ts';
import { ConfigError, type Environment } from '../src/config/environment.ts';
import type { ApprovalPolicy } from '../src/contract/rate-limit.ts';
import { NO_APPROVAL_POLICY } from '../src/domain/permissions.ts';

/** Changes nothing if the applications have settings. */
export async function setFirstSettings(
  client: Client,
  env: Environment,
  approvals: ApprovalPolicy = NO_APPROVAL_POLICY,
): Promise<void> {
  const applications = applicationsOf(env);
  const settings = new SharedSettingsOf(client, env['PAYMENTS_ENVIRONMENT'] ?? 'test');
  const change = { by: 'operator', reason: 'the first settings', recoveredAt: null, approvals };
  for (const { name, appId } of applications) await settings.changeOne(name, appId, change, true);
}

/** None if they are not usable: the worker says why. */
function applicationsOf(env: Environment): Iterable<Application> {
  try {
    return readApplications(env).values();
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}
