/** Connects worker processes to Temporal, with the same variables as clients. */
import { Client } from '@temporalio/client';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { encryptionKeys } from '../config/keys.ts';
import { temporalConfig } from '../config/temporal-config.ts';
import { clientConverter } from '../encryption/payload-codec.ts';
import type { Runtime } from '../runtime/runtime.ts';
import {
  ApiKeyFile,
  apiKeyReference,
  DEFAULT_ADDRESS,
  explained,
  type TemporalConnection,
} from './connection.ts';
import { clientInterceptors } from './queries.ts';

export async function connectWorker(
  { clock, random }: Runtime,
  payloadKeys = encryptionKeys(process.env).payloads,
): Promise<TemporalConnection<NativeConnection> & { client: Client }> {
  const { connectionOptions, namespace = 'default' } = temporalConfig(process.env);
  const { address = DEFAULT_ADDRESS } = connectionOptions;
  // Encrypted payloads don't compress, and trying costs both sides CPU time.
  const options: NativeConnectionOptions = { ...connectionOptions, grpcCompression: { codec: 'none' } };
  const connection = await explained(address, () => NativeConnection.connect(options));
  const reference = apiKeyReference(process.env);
  // Not awaited: it only replaces a header of the calls to come.
  if (reference !== undefined && typeof connectionOptions.apiKey === 'string')
    new ApiKeyFile(reference, connectionOptions.apiKey, (key) => void connection.setApiKey(key));
  const client = new Client({
    connection,
    namespace,
    dataConverter: clientConverter(payloadKeys, random),
    interceptors: clientInterceptors(clock),
  });
  return { connection, client, namespace, address };
}
