/** The version of a worker process, for Temporal's worker deployment versioning. */
import { z } from 'zod';

/** Temporal joins both with a separator that may be `:` or `.`. The Worker Controller gives a name with `/`. */
const deploymentName = z
  .string()
  .regex(/^[\w/-]{1,128}$/, 'must be 1 to 128 letters, digits, underscores, hyphens and slashes')
  .optional();
const buildId = z
  .string()
  .regex(/^[\w.-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, underscores and hyphens')
  .optional();

export const deploymentShape = {
  PAYOUTS_DEPLOYMENT: deploymentName.meta({
    description:
      "The name of the worker deployment. It turns on Temporal's worker deployment versioning for the task queue `payouts`: an open payout stays on its version until it continues as new. See [Deployments](operations.md#deployments).",
    valueType: 'name',
  }),
  PAYOUTS_BUILD_ID: buildId.meta({
    description:
      'The version of the code of this worker, such as the commit. `PAYOUTS_DEPLOYMENT` requires it. Workers with the same one must run the same code.',
    valueType: 'name',
  }),
};

interface DeploymentVariables {
  PAYOUTS_DEPLOYMENT?: string | undefined;
  PAYOUTS_BUILD_ID?: string | undefined;
}

export function isVersionNamed({ PAYOUTS_DEPLOYMENT, PAYOUTS_BUILD_ID }: DeploymentVariables): boolean {
  return PAYOUTS_DEPLOYMENT === undefined || PAYOUTS_BUILD_ID !== undefined;
}
