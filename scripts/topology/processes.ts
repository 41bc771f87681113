/** The commands of the topology's processes, on loopback ports of their own. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from '../child-process.ts';
import { loopback } from '../dev-server/ports.ts';
import { isListening } from '../dev-server/readiness.ts';
import { programArguments } from '../programs.ts';
import { loopbackEnvironment, PORT_VARIABLES, type Role } from '../temporal-server/environment.ts';
import { DYNAMIC_CONFIG_FILE } from '../temporal-server.ts';
import { apiSettings, codecSettings, nodeSettings, uiSettings, workerSettings } from './settings.ts';

/** Where everything is. */
export interface Places {
  folder: string;
  keysFolder: string;
  databasePort: number;
  /** `host:port` of the frontends. */
  temporalAddress: string;
  simulatorPort: number;
  /** Of all API servers together. */
  apiUrl: string;
  codecPort: number;
  uiPort: number;
  /** What the simulator and the workers share, and the simulator and the API servers. */
  appSecret: string;
  notificationSecret: string;
  /** A file, bundled once for all workers. */
  workflowBundle: string;
}

export const APP_ID = 'topology';

export function nodeCommand(
  places: Places,
  server: string,
  role: Role,
  number: number,
  ports: readonly number[],
): Command {
  const { databasePort, keysFolder } = places;
  const variables = PORT_VARIABLES[role];
  return {
    ...named(places, `${role === 'worker' ? 'system-worker' : role}-${number}`),
    program: server,
    args: ['start'],
    env: {
      ...loopbackEnvironment({ databasePort, dynamicConfigFile: DYNAMIC_CONFIG_FILE, variables, ports }),
      ...nodeSettings(join(keysFolder, 'temporal')),
      TEMPORAL_SERVICES: role,
    },
    isReady: () => isListening(loopback(ports[0])),
  };
}

export function uiCommand(places: Places, program: string): Command {
  const settings = uiSettings(join(places.keysFolder, 'temporal-client'));
  const config = {
    temporalGrpcAddress: places.temporalAddress,
    host: '127.0.0.1',
    port: places.uiPort,
    enableUi: true,
    disableNewsFetch: true,
    cors: { cookieInsecure: true, allowOrigins: [`http://${loopback(places.uiPort)}`] },
    tls: {
      caFile: settings.TEMPORAL_TLS_CA,
      certFile: settings.TEMPORAL_TLS_CERT,
      keyFile: settings.TEMPORAL_TLS_KEY,
      enableHostVerification: true,
      serverName: settings.TEMPORAL_TLS_SERVER_NAME,
    },
    codec: { endpoint: `http://${loopback(places.codecPort)}`, includeCredentials: true },
  };
  const folder = join(places.folder, 'ui');
  mkdirSync(folder, { recursive: true });
  // JSON is YAML. The image has a template that makes the same file from variables.
  writeFileSync(join(folder, 'topology.yaml'), JSON.stringify(config, null, 2));
  return {
    ...named(places, 'ui'),
    program,
    args: ['--root', folder, '--config', '.', '--env', 'topology', 'start'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    isReady: () => isListening(loopback(places.uiPort)),
  };
}

export function simulatorCommand(places: Places): Command {
  const app = {
    appId: APP_ID,
    appSecret: places.appSecret,
    redirectUri: redirectUri(places),
    notifyUrl: `${places.apiUrl}/v1/notifications/default`,
  };
  return ours(places, 'simulator', 'simulator/main.ts', 'simulator listening', {
    SIMULATOR_LISTEN: loopback(places.simulatorPort),
    SIMULATOR_APPS: JSON.stringify([app]),
    SIMULATOR_SETTINGS: JSON.stringify({ notificationSecret: places.notificationSecret }),
  });
}

export function workerCommand(places: Places, number: number, metricsPort: number): Command {
  const folder = join(places.keysFolder, 'worker');
  return ours(places, `worker-${number}`, 'src/workers/main.ts', 'worker ready', {
    ...workerSettings(folder),
    ...providerUrls(places),
    TEMPORAL_ADDRESS: places.temporalAddress,
    PAYMENTS_APP_ID: APP_ID,
    PAYMENTS_APP_SECRET: places.appSecret,
    PAYMENTS_REDIRECT_URI: redirectUri(places),
    PAYOUTS_METRICS_LISTEN: loopback(metricsPort),
    PAYOUTS_WORKFLOW_BUNDLE: places.workflowBundle,
  });
}

export function apiCommand(places: Places, number: number, port: number): Command {
  const folder = join(places.keysFolder, 'api');
  return ours(places, `api-${number}`, 'src/starters/api/main.ts', 'API server listening', {
    ...apiSettings(folder),
    TEMPORAL_ADDRESS: places.temporalAddress,
    PAYMENTS_NOTIFICATION_SECRETS: places.notificationSecret,
    PAYOUTS_API_LISTEN: loopback(port),
    PAYOUTS_DESK_TEMPORAL_UI: `http://${loopback(places.uiPort)}`,
  });
}

export function codecCommand(places: Places): Command {
  return ours(places, 'codec-server', 'src/codec-server/main.ts', 'codec server listening', {
    ...codecSettings(join(places.keysFolder, 'codec-server')),
    PAYOUTS_CODEC_LISTEN: loopback(places.codecPort),
    PAYOUTS_CODEC_ORIGINS: `http://${loopback(places.uiPort)}`,
  });
}

/** A program of ours. It has no variables but these. */
function ours(
  places: Places,
  name: string,
  program: string,
  text: string,
  env: Record<string, string>,
): Command {
  return {
    ...named(places, name),
    program: process.execPath,
    args: programArguments(program),
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    isReady: (log) => log.includes(text),
  };
}

function named({ folder }: Places, name: string) {
  return { name, logFile: join(folder, `${name}.log`) };
}

function providerUrls({ simulatorPort }: Places) {
  const url = `http://${loopback(simulatorPort)}`;
  return { PAYMENTS_BASE_URL: url, PAYMENTS_AUTH_URL: url };
}

function redirectUri({ apiUrl }: Places): string {
  return `${apiUrl}/v1/oauth/default/callback`;
}
