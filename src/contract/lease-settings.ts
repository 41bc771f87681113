/** The settings of a lease as its memo has them. */
import { z } from 'zod';
import type { LeaseSettings, SharedSettings } from '../domain/rate-limit-lease.ts';

export const pauseSchema = z.object({
  by: z.string(),
  at: z.string().describe('when the application was paused. ISO 8601'),
  reason: z.string().exactOptional(),
});

const above = z.record(z.string(), z.string());

export const sharedSettingsSchema = z.object({
  version: z.number(),
  by: z.string(),
  at: z.string(),
  reason: z.string(),
  recoveredAt: z.iso.datetime().nullable(),
  approvals: z.object({ above: above.optional(), callers: z.record(z.string(), above) }),
  failoverVersion: z.string(),
}) satisfies z.ZodType<SharedSettings>;

export const leaseSettingsSchema = z.object({
  callsPerSecond: z.number().optional(),
  changedBy: z.string().optional(),
  paused: pauseSchema.optional(),
  shared: sharedSettingsSchema.optional(),
});

/** Throws if they cannot be read: no process may then take the lease, as a pause could be lost. */
export function settingsIn(memo: Record<string, unknown> | undefined): LeaseSettings {
  return leaseSettingsSchema.parse(memo?.['settings'] ?? {});
}
