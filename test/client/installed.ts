/** Another project that installed the packed client and compiles against its types. */
import { execFile } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packClient } from '../../scripts/pack-client.ts';
import { tsc } from '../../scripts/setup/cache.ts';
import { type Installed, installPackage } from '../support/installed-package.ts';

const ROOT = join(import.meta.dirname, '../..');
const exec = promisify(execFile);

const COMPILER_OPTIONS = {
  target: 'ES2023',
  module: 'NodeNext',
  strict: true,
  exactOptionalPropertyTypes: true,
  types: ['node'],
};

export interface Consumer extends Installed {
  /** Compiles `examples/typescript/pay.ts` there. Returns the command that runs it without a loader. */
  compiled(): Promise<string[]>;
  /** The compiler's messages about a module of that project. */
  typeErrors(code: string): Promise<string>;
}

export async function installClient(): Promise<Consumer> {
  const installed = await installPackage(packClient, ['@types/node']);
  const { folder } = installed;
  const compile = async (file: string, skipLibCheck = true) => {
    const compilerOptions = { ...COMPILER_OPTIONS, skipLibCheck };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
    await exec(process.execPath, [tsc, '-p', folder]);
  };
  return {
    ...installed,
    async compiled() {
      copyFileSync(join(ROOT, 'examples/typescript/pay.ts'), join(folder, 'pay.ts'));
      await compile('pay.ts');
      return [process.execPath, join(folder, 'pay.js')];
    },
    async typeErrors(code) {
      writeFileSync(join(folder, 'checked.ts'), code);
      return compile('checked.ts', false).then(
        () => '',
        ({ stdout }) => ownErrors(stdout),
      );
    },
  };
}

/** Without those in Temporal's own declarations, which do not pass every check. */
function ownErrors(output: string): string {
  const errors = output.split(/\n(?! )/).filter((error) => error !== '');
  return errors.filter((error) => !error.startsWith('node_modules/@temporalio/')).join('\n');
}
