/** A world begins as an operator has left it: the first lease of an application has its shared settings. */
import type { ClientInterceptors, WorkflowClientInterceptor } from '@temporalio/client';
import { z } from 'zod';
import {
  type ApprovalPolicy,
  leaseSettingsSchema,
  type SharedSettings,
} from '../../src/contract/rate-limit.ts';
import { NO_APPROVAL_POLICY } from '../../src/domain/permissions.ts';

export function firstSettings(at: string, approvals: ApprovalPolicy = NO_APPROVAL_POLICY): SharedSettings {
  const about = { version: 1, by: 'operator', at, reason: 'the first settings' };
  return { ...about, recoveredAt: null, approvals, failoverVersion: '1' };
}

/** Of a worker's client: the workflow of a lease starts with them if it would start without any. */
export function withFirstSettings(
  { workflow }: ClientInterceptors,
  settings: () => SharedSettings | undefined,
): ClientInterceptors {
  const first: WorkflowClientInterceptor = {
    startWithDetails: (input, next) => {
      const shared = settings();
      if (input.workflowType !== 'rateLimitLease' || !shared) return next(input);
      const [key, term] = input.options.args;
      const known = leaseSettingsSchema.parse(input.options.memo?.['settings']);
      const all = { ...known, shared: known.shared ?? shared };
      const options = {
        ...input.options,
        memo: { settings: all },
        args: [key, { ...z.looseObject({}).parse(term), settings: all }],
      };
      return next({ ...input, options });
    },
  };
  return { workflow: [...(Array.isArray(workflow) ? workflow : []), first] };
}
