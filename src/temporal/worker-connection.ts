/** Connects worker processes to Temporal, with the same variables as clients. */
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { temporalConfig } from '../config/temporal-config.ts';
import type { Surroundings } from '../surroundings/surroundings.ts';
import { configuredDataConverter, type TemporalConnection } from './connection.ts';
import { clientInterceptors } from './queries.ts';

export async function connectWorker({
  clock,
  random,
}: Surroundings): Promise<TemporalConnection<NativeConnection> & { client: Client }> {
  const dataConverter = configuredDataConverter(random);
  const { connectionOptions, namespace = 'default' } = temporalConfig(process.env);
  const connection = await NativeConnection.connect(connectionOptions);
  const client = new Client({
    connection,
    namespace,
    dataConverter,
    interceptors: clientInterceptors(clock),
  });
  return { connection, client, namespace, address: connectionOptions.address ?? 'localhost:7233' };
}
