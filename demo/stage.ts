/** Everything the demo needs, as real processes on free loopback ports, stopped in the opposite order. */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess, startProgram } from '../scripts/child-process.ts';
import { freePorts } from '../scripts/dev-server/ports.ts';
import { type DevServer, startDevServer } from '../scripts/dev-server.ts';

export interface Stage {
  engine: DevServer;
  simulatorUrl: string;
  serviceUrl: string;
  codecUrl: string;
  /** Where the logs of every process lie. */
  folder: string;
  /** What another program needs in its environment to work with this stage. */
  environment: Record<string, string>;
  stop(): Promise<void>;
}

const APP = { appId: 'demo-app', appSecret: 'demo-secret' };

export async function setStage(say: (line: string) => void): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'durable-payouts-demo-'));
  const [simulatorPort = 0, servicePort = 0, codecPort = 0] = await freePorts(3);
  const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
  const serviceUrl = `http://127.0.0.1:${servicePort}`;
  const codecUrl = `http://127.0.0.1:${codecPort}`;
  say('starting the Temporal dev server (SQLite, Web UI) …');
  const engine = await startDevServer({
    dbFile: join(folder, 'temporal.db'),
    logFile: join(folder, 'engine.log'),
    codecEndpoint: codecUrl,
  });
  const environment = demoEnvironment(engine, simulatorUrl, serviceUrl);
  const children: ChildProcess[] = [];
  const run = async (name: string, program: string, extra: Record<string, string> = {}) => {
    say(`starting the ${name} …`);
    const logFile = join(folder, `${name.replace(' ', '-')}.log`);
    children.unshift(await startProgram(program, { ...process.env, ...environment, ...extra }, logFile));
  };
  const stop = async () => {
    for (const child of children) await endProcess(child, 'SIGTERM');
    await engine.stop();
  };
  try {
    await run('simulator', 'simulator/main.ts', {
      SIMULATOR_LISTEN: `127.0.0.1:${simulatorPort}`,
      SIMULATOR_APPS: JSON.stringify([
        {
          ...APP,
          notifyUrl: `${serviceUrl}/v1/notifications/default`,
          redirectUri: environment['PAYMENTS_REDIRECT_URI'],
        },
      ]),
    });
    await run('worker', 'src/workers/main.ts');
    await run('service', 'src/starters/api/main.ts');
    await run('codec server', 'src/codec-server/main.ts', {
      // It decodes what people look at; tokens are sealed for nobody's eyes.
      PAYOUTS_TOKEN_KEYS: '',
      PAYOUTS_CODEC_LISTEN: `127.0.0.1:${codecPort}`,
      PAYOUTS_CODEC_ORIGINS: engine.uiUrl,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { engine, simulatorUrl, serviceUrl, codecUrl, folder, environment, stop };
}

/** Short waits, so that a demo takes seconds; the codes are those that the simulator answers. */
function demoEnvironment(
  engine: DevServer,
  simulatorUrl: string,
  serviceUrl: string,
): Record<string, string> {
  return {
    TEMPORAL_ADDRESS: engine.address,
    TEMPORAL_NAMESPACE: engine.namespace,
    PAYMENTS_ENVIRONMENT: 'test',
    PAYMENTS_BASE_URL: simulatorUrl,
    PAYMENTS_AUTH_URL: simulatorUrl,
    PAYMENTS_APP_ID: APP.appId,
    PAYMENTS_APP_SECRET: APP.appSecret,
    PAYMENTS_REDIRECT_URI: `${serviceUrl}/v1/oauth/default/callback`,
    PAYMENTS_CREATE_CODES: '429:busy,30001:lock-expired,30002:insufficient,30005:refused',
    PAYMENTS_CALL_TIMEOUT: '5s',
    PAYOUTS_CONFIRMATION_WINDOW: '10s',
    PAYOUTS_POLL_FIRST: '3s',
    PAYOUTS_POLL_MAX: '10s',
    PAYOUTS_API_LISTEN: new URL(serviceUrl).host,
    // Of this demo alone: they are gone with it.
    PAYOUTS_ENCRYPTION_KEYS: newKey('demo'),
    PAYOUTS_TOKEN_KEYS: newKey('demo-tokens'),
  };
}

function newKey(keyId: string): string {
  return `${keyId}:${randomBytes(32).toString('base64')}`;
}
