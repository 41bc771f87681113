/** Another project that has installed the packed client: its own folder, with what the package asks for and no more. */
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { packClient } from '../../scripts/pack-client.mjs';

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

export interface Consumer {
  folder: string;
  /** Every file of the package. */
  files: string[];
  dependencies: Record<string, string>;
  /** Compiles `examples/typescript/pay.ts` there; answers the command that runs it without any loader. */
  compiled(): Promise<string[]>;
  remove(): void;
}

export async function installClient(): Promise<Consumer> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-consumer-'));
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  const archive = await packClient(folder);
  await exec('tar', ['-xzf', archive, '-C', modules]);
  const { stdout } = await exec('tar', ['-tzf', archive]);
  const own = join(modules, 'package');
  const dependencies = dependenciesOf(own);
  symlinkSync(own, join(modules, 'durable-payouts'));
  for (const name of [...Object.keys(dependencies), '@types/node']) link(name, modules);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  return {
    folder,
    files: stdout.trim().split('\n'),
    dependencies,
    async compiled() {
      copyFileSync(join(ROOT, 'examples/typescript/pay.ts'), join(folder, 'pay.ts'));
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
      await exec(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]);
      return [process.execPath, join(folder, 'pay.js')];
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function dependenciesOf(folder: string): Record<string, string> {
  const manifest = z.object({ dependencies: z.record(z.string(), z.string()) });
  return manifest.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).dependencies;
}

function link(name: string, modules: string): void {
  mkdirSync(dirname(join(modules, name)), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
}
