/**
 * The time-skipping server, started before the SDK looks for it: the SDK waits five seconds for the one that it starts,
 * and a Java machine on a busy computer takes longer.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { freePorts, loopback } from '../../../scripts/dev-server/ports.ts';
import { isListening } from '../../../scripts/dev-server/readiness.ts';
import { hasEnded } from '../../../scripts/own-process.ts';

const PLACEHOLDER = join(import.meta.dirname, 'placeholder');
const LOOK_EVERY_MS = 100;

export interface SkippingServer {
  engine: TestWorkflowEnvironment;
  stop(): Promise<void>;
}

/** `program`: the built `test-server`. */
export async function startSkippingServer(program: string): Promise<SkippingServer> {
  const [port = 0] = await freePorts(1);
  const child = spawn(program, [`${port}`, '--enable-time-skipping'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  await accepts(port, child);
  const engine = await TestWorkflowEnvironment.createTimeSkipping({
    server: { port, executable: { type: 'existing-path', path: PLACEHOLDER } },
  });
  return {
    engine,
    async stop() {
      await engine.teardown();
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}

async function accepts(port: number, child: ChildProcess): Promise<void> {
  while (!(await isListening(loopback(port)))) {
    if (hasEnded(child)) throw new Error('the time-skipping server ended before it was ready');
    await sleep(LOOK_EVERY_MS);
  }
}
