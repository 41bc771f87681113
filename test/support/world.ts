/** The world of tests that prove the same in virtual time, in `npm test`, and on the real server, in `npm run test:full`. */
import { inject } from 'vitest';
import type { TestWorld } from './test-world.ts';
import { VirtualWorld, type VirtualWorldOptions } from './virtual-world.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Set by the Vitest project. */
    worldsOn: 'server' | undefined;
  }
}

export async function startWorld(
  options: Pick<VirtualWorldOptions, 'env' | 'settings' | 'idle' | 'approvals'> = {},
): Promise<TestWorld> {
  if (inject('worldsOn') !== 'server') return VirtualWorld.start(options);
  // Loads the Rust core.
  const { PayoutWorld } = await import('./payout-world.ts');
  return PayoutWorld.start(options);
}
