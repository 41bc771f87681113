import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { activityInfo } from '@temporalio/activity';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { programArguments } from '../../scripts/programs.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import { dataConverter } from '../../src/encryption/payload-codec.ts';
import { runContext, traceIn, withTrace } from '../../src/observability/trace.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { bundleOptions } from '../../src/workers/workflow-bundle.ts';
import { newKey } from '../support/keys.ts';
import { PayoutWorld } from '../support/payout-world.ts';

const START = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const WORKFLOWS = join(import.meta.dirname, 'continued-workflow.ts');

describe('the trace of a start, with encrypted payloads,', () => {
  let world: PayoutWorld;
  let code: string;
  let worker: Worker;
  let running: Promise<void>;
  const seen: { runId: string; trace: string | undefined }[] = [];
  const keys = { PAYOUTS_ENCRYPTION_KEYS: newKey('k1'), PAYOUTS_TOKEN_KEYS: newKey('t1') };
  const converter = dataConverter(encryptionKeys(keys).payloads, PROCESS_RUNTIME.random);

  beforeAll(async () => {
    world = await PayoutWorld.start({ idle: true, env: keys });
    ({ code } = await bundleWorkflowCode({ ...bundleOptions(WORKFLOWS), logger: new DefaultLogger('WARN') }));
    worker = await Worker.create({
      connection: world.native,
      namespace: world.namespace,
      taskQueue: 'continued',
      workflowBundle: { code },
      dataConverter: converter,
      activities: { look: async () => undefined },
      interceptors: {
        activity: [
          () => ({
            inbound: {
              execute: (input, next) => {
                const runId = activityInfo().workflowExecution?.runId ?? '';
                seen.push({ runId, trace: traceIn(input.headers) });
                return next(input);
              },
            },
          }),
        ],
      },
    });
    running = worker.run();
  });
  afterAll(async () => {
    worker?.shutdown();
    await running;
    await world?.stop();
  });

  const runTwice = async (headers: Parameters<typeof withTrace>[0]): Promise<string> => {
    const workflowId = randomUUID();
    const { client } = world;
    seen.length = 0;
    await client.workflow.workflowService.startWorkflowExecution({
      namespace: world.namespace,
      requestId: randomUUID(),
      workflowId,
      workflowType: { name: 'continued' },
      taskQueue: { name: 'continued' },
      header: { fields: headers },
    });
    await client.workflow.getHandle(workflowId).result();
    return workflowId;
  };

  test('reaches the activities of each run, under the span of that run', async () => {
    await runTwice(withTrace({}, START));
    expect(seen).toHaveLength(2);
    for (const { runId, trace } of seen) expect(trace).toBe(runContext(START, runId));
    expect(new Set(seen.map(({ trace }) => trace)).size).toBe(2);
  });

  test('is absent without a header in the start, and with one that is not a trace', async () => {
    await runTwice({});
    await runTwice(withTrace({}, 'not a trace'));
    expect(seen.map(({ trace }) => trace)).toEqual([undefined, undefined]);
  });

  test('changes no command: histories with and without it replay', async () => {
    for (const headers of [{}, withTrace({}, START)]) {
      const workflowId = await runTwice(headers);
      const history = await world.client.workflow.getHandle(workflowId).fetchHistory();
      await Worker.runReplayHistory(
        { workflowBundle: { code }, dataConverter: converter },
        history,
        workflowId,
      );
    }
  });
});

test.each([
  ['without a collector, OpenTelemetry is not loaded', {}, false],
  ['with a collector, it is', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, true],
])('%s', (_title, settings, isLoaded) => {
  const program = join('test', 'observability', 'loads-opentelemetry.ts');
  const { stdout, stderr } = spawnSync(process.execPath, programArguments(program), {
    cwd: join(import.meta.dirname, '../..'),
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(stdout.trim()).toBe(String(isLoaded));
});
