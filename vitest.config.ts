import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Real servers and processes: a test waits for facts, and these bounds only stop what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    pool: 'forks',
    // Tests mostly wait: for timers, for processes, for the engine.
    maxWorkers: 4,
  },
});
