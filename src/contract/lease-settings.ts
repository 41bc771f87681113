/** The settings of a lease as its memo has them. */
import { z } from 'zod';
import type { LeaseSettings } from '../domain/rate-limit-lease.ts';

export const pauseSchema = z.object({
  by: z.string(),
  at: z.string().describe('when the application was paused. ISO 8601'),
  reason: z.string().exactOptional(),
});

export const leaseSettingsSchema = z.object({
  callsPerSecond: z.number().optional(),
  changedBy: z.string().optional(),
  paused: pauseSchema.optional(),
});

/** Throws if they cannot be read: no process may then take the lease, as a pause could be lost. */
export function settingsIn(memo: Record<string, unknown> | undefined): LeaseSettings {
  return leaseSettingsSchema.parse(memo?.['settings'] ?? {});
}
