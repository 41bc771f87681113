import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from './fakes.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const RUN = join(ROOT, 'scripts/run.mjs');

/** The launcher's arguments for a program of this text. */
function program(text: string): string[] {
  const file = join(temporaryFolder(), 'program.mts');
  writeFileSync(file, text);
  return [RUN, relative(ROOT, file)];
}

describe('a program started by its npm script', () => {
  test('receives its arguments, prints only its own output, and passes on its exit code', () => {
    const args = program(
      'console.log(JSON.stringify(process.argv.slice(2))); process.exitCode = 7 as number;',
    );
    const ended = spawnSync(process.execPath, [...args, 'start', '--json'], { encoding: 'utf8', cwd: ROOT });
    expect(ended).toMatchObject({ stdout: '["start","--json"]\n', stderr: '', status: 7 });
  });

  test('starts from any folder', () => {
    const ended = spawnSync(process.execPath, program('console.log("here" as string)'), {
      cwd: temporaryFolder(),
    });
    expect(ended.stdout.toString()).toBe('here\n');
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('receives %s, so that it shuts down cleanly', async (signal) => {
    const text = `process.on('${signal}', () => process.exit(5)); console.log('up'); setInterval(() => {}, 60_000);`;
    const child = spawn(process.execPath, program(text), {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: ROOT,
    });
    await once(child.stdout, 'data');
    child.kill(signal);
    expect((await once(child, 'exit'))[0]).toBe(5);
  });
});
