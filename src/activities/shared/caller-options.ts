/** On whose behalf a call is made, as the payments client takes it. */
import type { Caller } from './types.ts';

export function optionsOf({ openId }: Caller): { openId?: string } {
  return openId === undefined ? {} : { openId };
}
