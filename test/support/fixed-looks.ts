/** The shared settings of an application, for workers of a test that have no lease. */
import { firstSettings } from '../../simulation/payouts/first-settings.ts';
import type { LeaseLooks } from '../../src/activities/shared/lease-looks.ts';

const shared = firstSettings(new Date(0).toISOString());

export const FIXED_LOOKS: LeaseLooks = {
  recent: async () => ({ shared }),
  current: async () => shared,
};
