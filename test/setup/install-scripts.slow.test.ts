/** `npm ci` runs no code of a dependency: not on a developer's machine, in CI or in the build of the image. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NPM } from '../../scripts/setup/dependencies.mjs';
import { temporaryFolder } from './fakes.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Whether npm ran the script of a package that it installed. */
function runsScripts(npmrc: boolean): boolean {
  const folder = temporaryFolder();
  const ran = `node -e "fs.writeFileSync('ran', '')"`;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'a', scripts: { postinstall: ran } }));
  if (npmrc) copyFileSync(join(ROOT, '.npmrc'), join(folder, '.npmrc'));
  // An npm that runs the tests passes its own settings on.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  execFileSync(NPM, ['install', '--offline', '--silent'], { cwd: folder, env });
  return existsSync(join(folder, 'ran'));
}

test('H284 npm installs with the settings of this repository run no script of a package', () => {
  expect(runsScripts(false)).toBe(true);
  expect(runsScripts(true)).toBe(false);
});

test('H284 the image is built with these settings', () => {
  const [before = ''] = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').split('RUN npm ci');
  expect(before).toMatch(/^COPY .*\.npmrc .*\.\/$/m);
});
