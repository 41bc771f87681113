/** Everything as processes, at the highest log level, with a file that holds everything that Temporal stores. */

import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { request } from 'undici';
import { inject } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { setFirstSettings } from '../../scripts/first-settings.ts';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import { Payouts } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import { encryptionKeys } from '../../src/config/keys.ts';
import { dataConverter } from '../../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { patientInterceptors } from '../support/patient-client.ts';
import { type OwnProcess, startProgram } from '../support/processes.ts';
import { QUICK } from '../support/test-world.ts';
import { CANARIES } from './canaries.ts';
import type { CanaryTemporal } from './temporal.ts';

export interface CanaryStage {
  simulator: Simulator;
  client: Client;
  payouts: Payouts;
  apiUrl: string;
  environment: Environment;
  /** Everything that was printed or returned, kept for the search. */
  said: string[];
  /** Everything that was stored or printed. Ends the processes, so that everything is written. */
  everything(): Promise<Map<string, Buffer>>;
  stop(): Promise<void>;
}

export async function canaryStage(keys: Environment, temporal: CanaryTemporal): Promise<CanaryStage> {
  const [apiPort = 0, metricsPort = 0] = await freePorts(2);
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const simulator = await startSimulator({
    apps: [
      {
        appId: 'demo-app',
        appSecret: CANARIES.appSecret,
        redirectUri: `${apiUrl}/v1/oauth/default/callback`,
        notifyUrl: `${apiUrl}/v1/notifications/default`,
      },
    ],
    settings: {
      callsPerSecond: 1_000,
      secretPrefix: CANARIES.tokens,
      signatureSecret: CANARIES.signingKey,
      signatureContent: 'request',
      notificationSecret: CANARIES.notificationSecret,
    },
  });
  const environment: Environment = {
    ...QUICK,
    ...keys,
    TEMPORAL_ADDRESS: temporal.address,
    PAYMENTS_BASE_URL: simulator.url,
    PAYMENTS_AUTH_URL: simulator.url,
    PAYMENTS_APP_SECRET: CANARIES.appSecret,
    PAYMENTS_REDIRECT_URI: `${apiUrl}/v1/oauth/default/callback`,
    PAYMENTS_SIGNER: 'hmac-sha256',
    PAYMENTS_SIGNING_KEY: CANARIES.signingKey,
    PAYMENTS_NOTIFICATION_VERIFIER: 'hmac-sha256',
    PAYMENTS_NOTIFICATION_SECRETS: CANARIES.notificationSecret,
    PAYMENTS_CALLS_PER_SECOND: '500',
    PAYOUTS_WORKFLOW_BUNDLE: inject('workflowBundle'),
    PAYOUTS_LOG_LEVEL: 'debug',
    PAYOUTS_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
    PAYOUTS_API_LISTEN: `127.0.0.1:${apiPort}`,
  };
  const connection = await Connection.connect({ address: temporal.address });
  const client = new Client({
    connection,
    dataConverter: dataConverter(encryptionKeys(environment).payloads, PROCESS_RUNTIME.random),
    interceptors: patientInterceptors(),
  });
  const worker = await startProgram('src/workers/main.ts', environment, /worker ready/);
  await setFirstSettings(client, environment);
  // Only workers have token keys.
  const { PAYOUTS_TOKEN_KEYS: _tokenKeys, ...apiEnvironment } = environment;
  const service = await startProgram('src/starters/api/main.ts', apiEnvironment, /API server listening on/);
  const said: string[] = [];
  return {
    simulator,
    client,
    payouts: new Payouts({ client, environment: 'test' }),
    apiUrl,
    environment,
    said,
    everything: async () => {
      const metrics = await (await request(`http://127.0.0.1:${metricsPort}/metrics`)).body.text();
      const shown = await allShown(new Client({ connection }));
      await stopProcesses(worker, service);
      return gather({ temporal, worker, service, shown, said, metrics });
    },
    stop: async () => {
      await stopProcesses(worker, service);
      await connection.close();
      await simulator.close();
      await temporal.stop();
    },
  };
}

async function stopProcesses(...processes: OwnProcess[]): Promise<void> {
  for (const one of processes) await one.stop('SIGTERM');
}

/** What Temporal returns about every workflow to a client without keys: histories, ids, attributes, memos. */
async function allShown(client: Client): Promise<{ histories: string[]; descriptions: string[] }> {
  const { workflowService } = client;
  const [histories, descriptions]: [string[], string[]] = [[], []];
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await workflowService.listWorkflowExecutions({
      namespace: 'default',
      ...(nextPageToken && { nextPageToken }),
    });
    for (const { execution } of page.executions) {
      const workflowId = execution?.workflowId ?? '';
      const runId = execution?.runId ?? '';
      const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      histories.push(JSON.stringify(historyToJSON(history)));
      const described = await workflowService.describeWorkflowExecution({
        namespace: 'default',
        execution: { workflowId, runId },
      });
      descriptions.push(JSON.stringify(described, bytesAsText));
    }
    descriptions.push(JSON.stringify(page.executions, bytesAsText));
    nextPageToken = page.nextPageToken.length > 0 ? page.nextPageToken : undefined;
  } while (nextPageToken);
  return { histories, descriptions };
}

function bytesAsText(_name: string, value: unknown): unknown {
  const bytes = value instanceof Uint8Array ? value : undefined;
  return bytes ? Buffer.from(bytes).toString('latin1') : value;
}

async function gather(from: {
  temporal: CanaryTemporal;
  worker: OwnProcess;
  service: OwnProcess;
  shown: { histories: string[]; descriptions: string[] };
  said: string[];
  metrics: string;
}): Promise<Map<string, Buffer>> {
  const text = (lines: readonly string[]) => Buffer.from(lines.join('\n'));
  return new Map([
    ['histories', text(from.shown.histories)],
    ['descriptions: ids, search attributes, memos', text(from.shown.descriptions)],
    ['worker log', text([from.worker.output()])],
    ['service log', text([from.service.output()])],
    ['metrics', text([from.metrics])],
    ['answers', text(from.said)],
    ...(await from.temporal.stored()),
  ]);
}
