/**
 * The only place where programs that start and look connect to Temporal (`worker-connection.ts` is the workers'). Where
 * to is read from Temporal's own variables and profiles
 * (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_*`, `TEMPORAL_PROFILE`), so the
 * same program talks to the dev server, a self-hosted cluster and Temporal Cloud.
 */
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { encryptionKeys } from '../config/encryption.ts';
import type { Environment } from '../config/environment.ts';
import { temporalConfig } from '../config/temporal-config.ts';
import { dataConverter } from '../encryption/data-converter.ts';
import { PROCESS_SURROUNDINGS } from '../surroundings/process.ts';
import type { Random } from '../surroundings/surroundings.ts';
import { clientInterceptors } from './queries.ts';

export interface Engine<C> {
  connection: C;
  namespace: string;
  address: string;
}

/** What stands here counts before the variables. */
export interface Where {
  connection?: ConnectionOptions | undefined;
  namespace?: string | undefined;
  /** Where the variables are read from; this process's environment by default. */
  environment?: Environment | undefined;
}

/**
 * For processes that start, signal and look. Throws when the engine cannot be reached, and `ConfigError` where
 * payloads have to be encrypted and no key is there.
 */
export async function connectClient(where: Where = {}): Promise<Engine<Connection> & { client: Client }> {
  const { clock, random } = PROCESS_SURROUNDINGS;
  const converter = ownDataConverter(random, where.environment);
  const { connectionOptions, namespace } = temporalConfig(where.environment ?? process.env);
  const options = { connectTimeout: '10s', ...connectionOptions, ...where.connection } as const;
  const connection = await Connection.connect(options);
  const client = new Client({
    connection,
    namespace: where.namespace ?? namespace ?? 'default',
    dataConverter: converter,
    interceptors: clientInterceptors(clock),
  });
  return {
    connection,
    client,
    namespace: client.options.namespace,
    address: options.address ?? 'localhost:7233',
  };
}

/** The one of this process's environment, so that nobody can forget it. */
export function ownDataConverter(random: Random, environment: Environment = process.env): DataConverter {
  return dataConverter(encryptionKeys(environment).payloads, random);
}
