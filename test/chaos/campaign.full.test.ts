/** One seed of the fault campaigns, with real processes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
/** It starts six processes, kills some, and waits until every payout has ended, beside other tests. */
const LIMIT_MS = 480_000;

test(
  'one seed: calls fail, answers are random, processes die, and no payout is paid twice, stuck or misreported',
  async () => {
    const run = spawn(
      process.execPath,
      ['--import', 'tsx', join(ROOT, 'chaos/main.ts'), '--seeds', '1', '--json'],
      {
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [output, [code]] = await Promise.all([text(run.stdout), once(run, 'exit')]);
    const [line = ''] = output.split('\n');
    console.log(line);
    const report: unknown = JSON.parse(line);
    expect(report).toMatchObject({ seed: 1, violations: [], faultsMet: expect.any(Number) });
    expect(report).not.toMatchObject({ faultsMet: 0 });
    expect(report).not.toMatchObject({ randomAnswers: 0 });
    expect(code).toBe(0);
  },
  LIMIT_MS,
);
