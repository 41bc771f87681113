import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from 'vitest';
import { programArguments } from '../../scripts/programs.ts';
import { simulatorControl } from '../../simulator/index.ts';
import { until } from './support/simulator-client.ts';

describe('the program of the simulator', () => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill('SIGKILL'));

  function run(env: Record<string, string>): ChildProcess {
    child = spawn(process.execPath, programArguments('simulator/main.ts'), {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return child;
  }

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'prints one line once it listens, and exits 0 immediately on %s, even with held requests',
    async (signal) => {
      const running = run({
        SIMULATOR_LISTEN: '127.0.0.1:0',
        SIMULATOR_APPS: '[{"appId":"mine","appSecret":"s"}]',
        SIMULATOR_SETTINGS: '{"applicationTokenSeconds":60}',
      });
      const lines: string[] = [];
      createInterface({ input: running.stdout ?? process.stdin }).on('line', (line) => lines.push(line));
      const line = await until(() => lines[0]);
      expect(line).toMatch(
        /^simulator listening on http:\/\/127\.0\.0\.1:\d+ \(status page \/_sim, control API \/_sim\/…\)$/,
      );
      const url = /http:\S+/.exec(line)?.[0] ?? '';
      const control = simulatorControl(url);
      expect((await control.settings()).applicationTokenSeconds).toBe(60);
      await control.addFault({ fault: { kind: 'hold-until-released' } });
      const held = fetch(`${url}/v2/token/get?app_id=mine&app_secret=s`).catch(() => 'cut');
      await until(async () => (await control.faults())[0]?.held === 1 || undefined);
      running.kill(signal);
      const [code] = await once(running, 'exit');
      expect(code).toBe(0);
      expect(lines.length).toBe(1);
      await held;
    },
  );

  test('refuses to start with a bad address and prints the reason', async () => {
    const running = run({ SIMULATOR_LISTEN: 'nowhere' });
    let complaint = '';
    running.stderr?.on('data', (chunk) => {
      complaint += String(chunk);
    });
    const [code] = await once(running, 'close');
    expect(code).toBe(1);
    expect(complaint).toMatch(/host:port/);
  });
});
