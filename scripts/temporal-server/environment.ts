/**
 * The variables of the server's Docker image. Without a configuration file, the server reads everything from them.
 * docker-compose.yml sets the same.
 */
import { USER } from './postgres.ts';

export const TEMPORAL_SETTINGS = {
  DB: 'postgres12',
  POSTGRES_USER: USER,
  NUM_HISTORY_SHARDS: '512',
  LOG_LEVEL: 'warn',
} as const;

/** The ports of each role. Clients use the first of the frontend. */
export const PORT_VARIABLES = {
  frontend: ['FRONTEND_GRPC_PORT', 'FRONTEND_MEMBERSHIP_PORT', 'FRONTEND_HTTP_PORT'],
  history: ['HISTORY_GRPC_PORT', 'HISTORY_MEMBERSHIP_PORT'],
  matching: ['MATCHING_GRPC_PORT', 'MATCHING_MEMBERSHIP_PORT'],
  worker: ['WORKER_GRPC_PORT', 'WORKER_MEMBERSHIP_PORT'],
} as const;

export type Role = keyof typeof PORT_VARIABLES;

export interface LoopbackSettings {
  databasePort: number;
  dynamicConfigFile: string;
  variables: readonly string[];
  /** One for each variable. */
  ports: readonly number[];
}

/** A process on loopback, with ports of its own. */
export function loopbackEnvironment(settings: LoopbackSettings): NodeJS.ProcessEnv {
  const { databasePort, dynamicConfigFile, variables, ports } = settings;
  return {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    ...TEMPORAL_SETTINGS,
    DB_PORT: `${databasePort}`,
    POSTGRES_SEEDS: '127.0.0.1',
    BIND_ON_IP: '127.0.0.1',
    TEMPORAL_BROADCAST_ADDRESS: '127.0.0.1',
    DYNAMIC_CONFIG_FILE_PATH: dynamicConfigFile,
    ...Object.fromEntries(variables.map((name, at) => [name, `${ports[at]}`])),
  };
}
