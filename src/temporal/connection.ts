/**
 * Connects clients to Temporal. Workers connect in `worker-connection.ts`. Temporal's own variables and profiles
 * (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, `TEMPORAL_TLS_*`, `TEMPORAL_PROFILE`) configure the
 * connection, so that the same program connects to the dev server, a self-hosted cluster and Temporal Cloud.
 */

import { watchFile } from 'node:fs';
import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import type { Environment } from '../config/environment.ts';
import { encryptionKeys } from '../config/keys.ts';
import { Secrets } from '../config/secrets.ts';
import { temporalConfig } from '../config/temporal-config.ts';
import { secret } from '../config/values.ts';
import type { KeyRing } from '../encryption/key-ring.ts';
import { clientConverter } from '../encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Clock } from '../runtime/runtime.ts';
import { messageOf } from './client-errors.ts';
import { clientInterceptors } from './queries.ts';

/** Temporal cannot be used as it is set up. The message says what to do. */
export class TemporalSetupError extends Error {
  override readonly name = 'TemporalSetupError';
}

export const DEFAULT_ADDRESS = 'localhost:7233';

export interface TemporalConnection<C> {
  connection: C;
  namespace: string;
  address: string;
}

/** Each option takes precedence over the environment variables. */
export interface ConnectOptions {
  connection?: ConnectionOptions | undefined;
  namespace?: string | undefined;
  /** The environment variables. Default: those of this process. */
  environment?: Environment | undefined;
  /** The keys that encrypt payloads. Default: those of the environment. */
  payloadKeys?: KeyRing | undefined;
}

/** Throws `TemporalSetupError` if there is no connection, and `ConfigError` if payloads must be encrypted and there is no key. */
export async function connectClient(
  overrides: ConnectOptions = {},
): Promise<TemporalConnection<Connection> & { client: Client }> {
  const { clock, random } = PROCESS_RUNTIME;
  const environment = overrides.environment ?? process.env;
  const secrets = new Secrets(environment);
  const ring = overrides.payloadKeys ?? encryptionKeys(environment, { secrets }).payloads;
  const config = temporalConfig(environment, secrets, overrides.connection);
  const { connectionOptions, namespace: configured = 'default' } = config;
  const apiKey = reloadedApiKey(environment, connectionOptions.apiKey);
  const options: ConnectionOptions = {
    connectTimeout: '10s',
    interceptors: [boundedCalls(clock)],
    ...connectionOptions,
    ...(apiKey && { apiKey }),
    ...overrides.connection,
  };
  const address = options.address ?? DEFAULT_ADDRESS;
  const connection = await explained(address, () => Connection.connect(options));
  const namespace = overrides.namespace ?? configured;
  const client: Client = new Client({
    connection,
    namespace,
    dataConverter: clientConverter(ring, random),
    interceptors: clientInterceptors(clock, () => client),
  });
  return { connection, client, namespace, address };
}

function reloadedApiKey(environment: Environment, apiKey: ConnectionOptions['apiKey']) {
  const reference = apiKeyReference(environment);
  if (reference === undefined || typeof apiKey !== 'string') return undefined;
  const file = new ApiKeyFile(reference, apiKey);
  return () => file.current;
}

/** The SDK's error of a failed connection names no address, and hides the reason in its cause. */
export async function explained<C>(address: string, connect: () => Promise<C>): Promise<C> {
  try {
    return await connect();
  } catch (cause) {
    const advice =
      'Check TEMPORAL_ADDRESS (or TEMPORAL_PROFILE), its credentials, and that Temporal runs there.';
    throw new TemporalSetupError(`cannot connect to Temporal at ${address}: ${messageOf(cause)}. ${advice}`, {
      cause,
    });
  }
}

const PREFIX = 'file:';
/** Temporal Cloud accepts the old key until it is deleted or expires. */
const LOOK_EVERY_MS = 2_000;

/**
 * The API key of a file (`TEMPORAL_API_KEY=file:PATH`), read again when the file changes: a key of Temporal Cloud expires, and
 * its successor is used without a restart.
 */
export class ApiKeyFile {
  private readonly reference: string;
  private key: string;

  /** `key`: what the file holds now. `changed` gets each later key. */
  constructor(reference: string, key: string, changed: (key: string) => void = () => undefined) {
    this.reference = reference;
    this.key = key;
    // Does not keep the process running. It also sees the exchange of a symbolic link, as Kubernetes does it.
    const options = { persistent: false, interval: LOOK_EVERY_MS };
    watchFile(reference.slice(PREFIX.length), options, () => this.readAgain(changed));
  }

  get current(): string {
    return this.key;
  }

  /** A file that is missing or empty for a moment changes nothing. */
  private readAgain(changed: (key: string) => void): void {
    const read = secret.safeParse(this.reference);
    if (!read.success || read.data === this.key) return;
    this.key = read.data;
    changed(this.key);
  }
}

/** The reference to the file, if the API key is in one. */
export function apiKeyReference(environment: Environment): string | undefined {
  const text = environment['TEMPORAL_API_KEY'];
  return text?.startsWith(PREFIX) ? text : undefined;
}

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = ReturnType<Parameters<Interceptor>[1]>;

/** A wait for a result consists of calls that Temporal responds to after about twenty seconds if nothing has happened. */
const LONGEST_CALL_MS = 60_000;
const CANCELLED = 1;

/**
 * Bounds every call of a connection in time. Without a deadline, Temporal's client waits for a response forever, and a
 * server that accepts connections may never respond, for example while its database is down.
 *
 * Retries as Temporal's client does. A call without a deadline of its own gets one a minute from now. No retry begins after
 * the deadline, so that the last error says why the call failed, or after the connection was closed.
 */
function boundedCalls(clock: Clock): Interceptor {
  return (options, nextCall) => {
    const deadlineMs = Number(options.deadline ?? clock.wallMs() + LONGEST_CALL_MS);
    const { delayFunction, retryableDecider } = defaultGrpcRetryOptions();
    let delayMs = 0;
    const retry = makeGrpcRetryInterceptor({
      retryableDecider: (attempt, status) => {
        delayMs = delayFunction(attempt, status);
        return retryableDecider(attempt, status) && clock.wallMs() + delayMs < deadlineMs;
      },
      delayFunction: () => delayMs,
    });
    return retry({ ...options, deadline: deadlineMs }, (sent) => {
      try {
        return nextCall(sent);
      } catch (error) {
        return failedCall(messageOf(error));
      }
    });
  };
}

/** The SDK retries in a timer. There, the error of a closed connection would end the process. */
function failedCall(details: string): Call {
  return {
    start(metadata, listener) {
      listener?.onReceiveMessage?.(null);
      listener?.onReceiveStatus?.({ code: CANCELLED, details, metadata });
    },
    cancelWithStatus: () => undefined,
    getPeer: () => 'unknown',
    sendMessageWithContext: () => undefined,
    sendMessage: () => undefined,
    startRead: () => undefined,
    halfClose: () => undefined,
    getAuthContext: () => null,
  };
}
