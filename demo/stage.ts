/** The processes of the demo, on loopback, stopped in reverse order. */
import type { ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { endProcess, startProgram } from '../scripts/child-process.ts';
import { freePorts } from '../scripts/dev-server/ports.ts';
import { type DevServer, startDevServer } from '../scripts/dev-server.ts';
import { setFirstSettings } from '../scripts/first-settings.ts';
import { findTemporalCli } from '../scripts/setup/temporal-cli.ts';
import { VERBS } from '../src/config/callers.ts';
import type { Environment } from '../src/config/environment.ts';
import { encryptionKeys } from '../src/config/keys.ts';
import { dataConverter } from '../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../src/runtime/process.ts';

export interface Stage {
  temporal: DevServer;
  simulatorUrl: string;
  apiUrl: string;
  codecUrl: string;
  /** The folder with the logs of every process. */
  folder: string;
  /** The environment variables with which another program can use this stage. */
  environment: Record<string, string>;
  stop(): Promise<void>;
}

const APP = { appId: 'demo-app', appSecret: 'demo-secret' };
/** The defaults of Temporal, the simulator, the API server and the codec server. */
const DEFAULT_PORTS = [7233, 8233, 8090, 8080, 8081];

/** With `keys`, for people to use: on the default ports that are free, and the API server requires one of them. */
export async function startStage(
  say: (line: string) => void,
  keys?: { starter: string; approver: string },
): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'durable-payouts-demo-'));
  const ports = await freePorts(DEFAULT_PORTS.length, keys && DEFAULT_PORTS);
  const [simulatorPort = 0, apiPort = 0, codecPort = 0] = ports.slice(2);
  const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
  const apiUrl = `http://127.0.0.1:${apiPort}`;
  const codecUrl = `http://127.0.0.1:${codecPort}`;
  const cliPath = process.env['TEMPORAL_ADDRESS'] ? undefined : await findTemporalCli();
  say('starting the Temporal dev server (SQLite, Web UI) …');
  const temporal = await startDevServer({
    cliPath,
    dbFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'temporal.log'),
    codecEndpoint: codecUrl,
    ports: keys && ports.slice(0, 2),
  });
  const environment = demoEnvironment(temporal, simulatorUrl, apiUrl);
  const children: ChildProcess[] = [];
  const run = async (name: string, program: string, extra: Record<string, string> = {}) => {
    say(`starting the ${name} …`);
    const logFile = join(folder, `${name.replace(' ', '-')}.log`);
    children.unshift(await startProgram(program, { ...process.env, ...environment, ...extra }, logFile));
  };
  const stop = async () => {
    for (const child of children) await endProcess(child, 'SIGTERM');
    await temporal.stop();
  };
  try {
    await run('simulator', 'simulator/main.ts', {
      SIMULATOR_LISTEN: `127.0.0.1:${simulatorPort}`,
      SIMULATOR_APPS: JSON.stringify([
        {
          ...APP,
          notifyUrl: `${apiUrl}/v1/notifications/default`,
          redirectUri: environment['PAYMENTS_REDIRECT_URI'],
        },
      ]),
    });
    await run('worker', 'src/workers/main.ts');
    await setSettings(temporal, environment);
    // Only workers have token keys, and the codec server no authorization keys either.
    await run('API server', 'src/starters/api/main.ts', {
      PAYOUTS_TOKEN_KEYS: '',
      ...(keys && { PAYOUTS_API_KEYS_FILE: await callersFile(folder, keys) }),
    });
    await run('codec server', 'src/codec-server/main.ts', {
      ...{ PAYOUTS_TOKEN_KEYS: '', PAYOUTS_AUTHORIZATION_KEYS: '', PAYOUTS_SEARCH_KEYS: '' },
      PAYOUTS_CODEC_LISTEN: `127.0.0.1:${codecPort}`,
      PAYOUTS_CODEC_ORIGINS: temporal.uiUrl,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { temporal, simulatorUrl, apiUrl, codecUrl, folder, environment, stop };
}

/** As an operator does once for a new application: `payouts settings`. */
async function setSettings({ address, namespace }: DevServer, environment: Environment): Promise<void> {
  const connection = await Connection.connect({ address });
  const converter = dataConverter(encryptionKeys(environment).payloads, PROCESS_RUNTIME.random);
  await setFirstSettings(new Client({ connection, namespace, dataConverter: converter }), environment);
  await connection.close();
}

/** Short waits, so that the demo takes seconds. The create codes are the simulator's. */
function demoEnvironment(temporal: DevServer, simulatorUrl: string, apiUrl: string): Record<string, string> {
  return {
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    PAYMENTS_ENVIRONMENT: 'test',
    PAYMENTS_BASE_URL: simulatorUrl,
    PAYMENTS_AUTH_URL: simulatorUrl,
    PAYMENTS_APP_ID: APP.appId,
    PAYMENTS_APP_SECRET: APP.appSecret,
    PAYMENTS_REDIRECT_URI: `${apiUrl}/v1/oauth/default/callback`,
    PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
    PAYMENTS_CALL_TIMEOUT: '5s',
    // The simulator's trade queries ignore the client.
    PAYMENTS_CLIENT_PAIRS: 'trusted',
    PAYOUTS_CONFIRMATION_WINDOW: '10s',
    PAYOUTS_POLL_FIRST: '3s',
    PAYOUTS_POLL_MAX: '10s',
    PAYOUTS_API_LISTEN: new URL(apiUrl).host,
    PAYOUTS_API_TRY_OUT: 'on',
    PAYOUTS_DESK: 'on',
    PAYOUTS_DESK_TEMPORAL_UI: temporal.uiUrl,
    // For this run only.
    PAYOUTS_ENCRYPTION_KEYS: newKey('demo'),
    PAYOUTS_TOKEN_KEYS: newKey('demo-tokens'),
    PAYOUTS_AUTHORIZATION_KEYS: newKey('demo-authorizations'),
    PAYOUTS_SEARCH_KEYS: newKey('demo-search'),
  };
}

/** Two callers, because whoever starts a payout can't approve it. */
async function callersFile(folder: string, keys: Readonly<Record<string, string>>): Promise<string> {
  const file = join(folder, 'callers.json');
  const callers = Object.entries(keys).map(([name, key]) => ({
    name,
    keySha256: [createHash('sha256').update(key).digest('hex')],
    applications: ['default'],
    verbs: VERBS,
    largestAmount: { CNY: '1000000.00' },
  }));
  await writeFile(file, JSON.stringify(callers));
  return file;
}

function newKey(keyId: string): string {
  return `${keyId}:${randomBytes(32).toString('base64')}`;
}
