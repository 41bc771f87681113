import { defineConfig } from 'vitest/config';

/**
 * Tests of functions and files alone: no server, no process of their own, no fake timers, nothing that they leave behind. No
 * Temporal server is started for them.
 */
const UNIT = [
  'test/config/{config,configuration-doc,env-example,secrets}.test.ts',
  'test/contract/**/*.test.ts',
  'test/docs/!(quickstart).test.ts',
  'test/domain/{aftercare,checks,money,trade-verdict}.test.ts',
  'test/encryption/{payload-codec,token-seal}.test.ts',
  'test/payments/{exact-json,in-process,notification-body,notification}.test.ts',
  'test/rate-limit/lease-rules.test.ts',
  'test/setup/{counting,layers}.test.ts',
  'test/tokens/attempt-states.test.ts',
  'test/api/unmatched-notifications.test.ts',
  'test/bench/measures.test.ts',
  'test/cli/imports.test.ts',
];

export default defineConfig({
  test: {
    pool: 'forks',
    // Test files share processes, so that packages load once in each. A test restores what it replaces in its process.
    isolate: false,
    // Tests mostly wait: for timers, for processes, for Temporal.
    maxWorkers: 6,
    // A test waits for facts, and these bounds only stop what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    globalSetup: ['test/support/temporary-folder.ts'],
    projects: [
      { extends: true, test: { name: 'unit', include: UNIT } },
      {
        extends: true,
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: UNIT,
          // Besides the one of all projects.
          globalSetup: ['test/support/global-setup.ts'],
        },
      },
    ],
  },
});
