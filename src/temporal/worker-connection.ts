/** How worker processes connect to Temporal: by the same variables as everything else. */
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { temporalConfig } from '../config/temporal-config.ts';
import type { Surroundings } from '../surroundings/surroundings.ts';
import { type Engine, ownDataConverter } from './connection.ts';
import { clientInterceptors } from './queries.ts';

export async function connectWorker({
  clock,
  random,
}: Surroundings): Promise<Engine<NativeConnection> & { client: Client }> {
  const converter = ownDataConverter(random);
  const { connectionOptions, namespace = 'default' } = temporalConfig(process.env);
  const connection = await NativeConnection.connect(connectionOptions);
  const client = new Client({
    connection,
    namespace,
    dataConverter: converter,
    interceptors: clientInterceptors(clock),
  });
  return { connection, client, namespace, address: connectionOptions.address ?? 'localhost:7233' };
}
