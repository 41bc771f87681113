#!/usr/bin/env node
/** The `payouts` bin: the CLI, from any folder. npm has installed its packages already, so nothing is set up here. */
import { register as registerForRequire } from 'tsx/cjs/api';
import { register } from 'tsx/esm/api';

// Temporal's SDK loads the failure converter with `require`, and Node itself reads no TypeScript in node_modules.
registerForRequire();
// A tsconfig.json in the caller's folder must not change how the sources are read.
register({ tsconfig: false });
await import('../src/starters/cli/main.ts');
