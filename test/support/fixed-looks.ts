/** The shared settings of an application, for workers of a test that have no lease. */

import type { LeaseLooks } from '../../src/activities/shared/lease-looks.ts';
import { firstSettings } from '../../worlds/payouts/first-settings.ts';

const shared = firstSettings(new Date(0).toISOString());

export const FIXED_LOOKS: LeaseLooks = {
  recent: async () => ({ shared }),
  current: async () => shared,
};
