import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Connection } from '@temporalio/client';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { StartError } from '../../scripts/child-process.ts';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { type DevServer, startDevServer } from '../../scripts/dev-server.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/namespace.ts';
import { PATIENT } from '../support/patience.ts';
import { fakeProgram, temporaryFolder } from './fakes.ts';

const own = { always: true } as const;

async function started(options: Parameters<typeof startDevServer>[0] = {}): Promise<DevServer> {
  const server = await startDevServer({ ...own, ui: false, ...options });
  onTestFinished(() => server.stop());
  return server;
}

function isAlive(pid: number | undefined): boolean {
  try {
    return pid !== undefined && process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function withConnection<T>(address: string, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await use(connection);
  } finally {
    await connection.close();
  }
}

async function registered(address: string): Promise<string[]> {
  return withConnection(address, async ({ operatorService }) => {
    const { customAttributes } = await operatorService.listSearchAttributes({ namespace: 'default' });
    return Object.keys(customAttributes ?? {});
  });
}

describe('the dev server', () => {
  test('has its search attributes and UI once started, and leaves no process once stopped', async () => {
    const server = await started({ ui: true });
    expect(await registered(server.address)).toEqual(expect.arrayContaining(Object.keys(SEARCH_ATTRIBUTES)));
    expect((await fetch(server.uiUrl)).status).toBe(200);
    const { pid } = server;
    expect(isAlive(pid)).toBe(true);
    await server.stop();
    expect(isAlive(pid)).toBe(false);
  });

  test('keeps address and data after a kill and a restart', async () => {
    const server = await started({ dbFile: join(temporaryFolder(), 'temporal.db') });
    const { address, pid } = server;
    await withConnection(address, ({ workflowService }) =>
      workflowService.startWorkflowExecution({
        namespace: 'default',
        workflowId: 'kept',
        requestId: 'kept',
        workflowType: { name: 'none' },
        taskQueue: { name: 'none' },
      }),
    );
    await server.kill('SIGKILL');
    expect(isAlive(pid)).toBe(false);
    await server.restart();
    expect(server.address).toBe(address);
    expect(server.pid).not.toBe(pid);
    const kept = await withConnection(address, ({ workflowService }) =>
      workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId: 'kept' } }),
    );
    expect(kept.workflowExecutionInfo?.execution?.workflowId).toBe('kept');
  });

  test('ends with the process that started it, also when that process is killed', async () => {
    const starter = startedElsewhere();
    const [line] = (await once(createInterface(starter.stdout ?? process.stdin), 'line')) as [string];
    const pid = Number(line);
    expect(isAlive(pid)).toBe(true);
    starter.kill('SIGKILL');
    await expect.poll(() => isAlive(pid), PATIENT).toBe(false);
  });

  test('a Temporal server that already runs is used unchanged, and never stopped', async () => {
    const server = await started();
    vi.stubEnv('TEMPORAL_ADDRESS', server.address);
    onTestFinished(() => void vi.unstubAllEnvs());
    const existing = await startDevServer();
    expect(existing).toMatchObject({ address: server.address, pid: undefined, namespace: 'default' });
    await existing.stop();
    expect(isAlive(server.pid)).toBe(true);
    await expect(existing.kill('SIGKILL')).rejects.toThrow('started elsewhere');
  });

  test('one that cannot start reports the end of its log', async () => {
    const cliPath = fakeProgram(join(temporaryFolder(), 'temporal'), 'address already in use', 1);
    const failure = await startDevServer({ ...own, cliPath }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StartError);
    expect(String(failure)).toContain('address already in use');
  });

  test('a missing binary is an error, not a crash', async () => {
    const cliPath = join(temporaryFolder(), 'nothing');
    expect(existsSync(cliPath)).toBe(false);
    await expect(startDevServer({ ...own, cliPath })).rejects.toThrow('ENOENT');
  });
});

describe('free ports', () => {
  test('are as many as requested, distinct, unused, and outside the range of outgoing connections', async () => {
    const ports = await freePorts(8);
    expect(new Set(ports).size).toBe(8);
    expect(Math.max(...ports)).toBeLessThan(32_768);
    for (const port of ports) {
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening');
      server.close();
    }
  });

  test('are the preferred ones, in their places, where these are free', async () => {
    const [free = 0, taken = 0, other = 0] = await freePorts(3);
    const holder = createServer().listen(taken, '127.0.0.1');
    await once(holder, 'listening');
    onTestFinished(() => void holder.close());
    const [first, second, third] = await freePorts(3, [free, taken, other]);
    expect([first, third]).toEqual([free, other]);
    expect(second).not.toBe(taken);
  });
});

/** A process that starts a dev server, prints its process id and waits. */
function startedElsewhere(): ChildProcess {
  const program = `
    import { startDevServer } from ${JSON.stringify(join(import.meta.dirname, '../../scripts/dev-server.ts'))};
    const server = await startDevServer({ always: true, ui: false });
    console.log(server.pid);
    setInterval(() => {}, 60_000);`;
  const starter = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void starter.kill('SIGKILL'));
  return starter;
}
