#!/usr/bin/env node
/** The `payouts` bin: runs the CLI from any folder. npm has already installed the packages. */
import { register as registerForRequire } from 'tsx/cjs/api';
import { register } from 'tsx/esm/api';

// Temporal's SDK loads the failure converter with `require`, and Node does not run TypeScript in node_modules.
registerForRequire();
// A tsconfig.json in the caller's folder must not apply to our sources.
register({ tsconfig: false });
await import('../src/starters/cli/main.ts');
