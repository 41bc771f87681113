/** What workers of a test without a lease know. */

import type { LeaseLooks } from '../../src/activities/shared/lease-looks.ts';
import { firstSettings } from '../../worlds/payouts/first-settings.ts';

const shared = firstSettings(new Date(0).toISOString());

export const FIXED_LOOKS: LeaseLooks = {
  recent: async () => ({ shared }),
  current: async () => shared,
};

/** No test with them resets or holds a workflow. */
export const NEVER_RESET = { begunAt: async () => Date.now() };
