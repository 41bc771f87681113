/**
 * The only place that connects to Temporal. Where to is read from Temporal's own variables and profiles
 * (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_*`, `TEMPORAL_PROFILE`), so the
 * same program talks to the dev server, a self-hosted cluster and Temporal Cloud.
 */
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';
import { encryptionKeys } from '../config/encryption.ts';
import { dataConverter } from '../encryption/data-converter.ts';

export interface Engine<C> {
  connection: C;
  namespace: string;
  address: string;
}

/**
 * For processes that start, signal and look. Throws when the engine cannot be reached, and `ConfigError` where
 * payloads have to be encrypted and no key is there.
 */
export async function connectClient(): Promise<Engine<Connection> & { client: Client }> {
  const converter = ownDataConverter();
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const connection = await Connection.connect({ connectTimeout: '10s', ...connectionOptions });
  const client = new Client({ connection, namespace, dataConverter: converter });
  return { connection, client, namespace, address: connectionOptions.address ?? 'localhost:7233' };
}

/** For worker processes. */
export async function connectWorker(): Promise<Engine<NativeConnection> & { client: Client }> {
  const converter = ownDataConverter();
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const connection = await NativeConnection.connect(connectionOptions);
  const client = new Client({ connection, namespace, dataConverter: converter });
  return { connection, client, namespace, address: connectionOptions.address ?? 'localhost:7233' };
}

/** The one of this process's environment, so that nobody can forget it. */
function ownDataConverter() {
  return dataConverter(encryptionKeys(process.env).payloads);
}
