import { defineConfig } from 'vitest/config';

/** The suffix of a test file tells what it needs. */
const FAST = ['test/**/*.test.ts'];
/** Seconds of computing, and nothing else. */
const SLOW = ['test/**/*.slow.test.ts'];
/** The real Temporal server, or processes of its own. */
const SERVER = ['test/**/*.server.test.ts'];
/** Also run on the real server, in the full run: the life of a payout. */
const TWICE = ['test/workflows/*.test.ts'];
/** What only a long run shows. */
const FULL = ['test/**/*.full.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    // Test files share processes, so that packages load once in each. A test restores what it replaces in its process.
    isolate: false,
    // A run finds the transformed files of an earlier one.
    experimental: { fsModuleCache: true },
    // A test waits for facts, and these bounds only stop what hangs.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    globalSetup: ['test/support/temporary-folder.ts', 'test/support/bundle-setup.ts'],
    projects: [
      { extends: true, test: { name: 'fast', include: FAST, exclude: [...SLOW, ...SERVER, ...FULL] } },
      { extends: true, test: { name: 'slow', include: SLOW } },
      {
        extends: true,
        test: { name: 'server', include: SERVER, globalSetup: ['test/support/server-setup.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'twice',
          include: TWICE,
          exclude: SERVER,
          globalSetup: ['test/support/server-setup.ts'],
          provide: { worldsOn: 'server' },
        },
      },
      {
        extends: true,
        test: { name: 'full', include: FULL, globalSetup: ['test/support/server-setup.ts'] },
      },
    ],
  },
});
