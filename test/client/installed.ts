/** Another project that installed the packed client and compiles against its types. */
import { execFile } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packClient } from '../../scripts/pack-client.mjs';
import { type Installed, installPackage } from '../support/installed-package.ts';

const ROOT = join(import.meta.dirname, '../..');
const exec = promisify(execFile);

const TSCONFIG = {
  compilerOptions: {
    target: 'ES2023',
    module: 'NodeNext',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    types: ['node'],
  },
  files: ['pay.ts'],
};

export interface Consumer extends Installed {
  /** Compiles `examples/typescript/pay.ts` there. Returns the command that runs it without a loader. */
  compiled(): Promise<string[]>;
}

export async function installClient(): Promise<Consumer> {
  const installed = await installPackage(packClient, ['@types/node']);
  const { folder } = installed;
  return {
    ...installed,
    async compiled() {
      copyFileSync(join(ROOT, 'examples/typescript/pay.ts'), join(folder, 'pay.ts'));
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
      await exec(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]);
      return [process.execPath, join(folder, 'pay.js')];
    },
  };
}
