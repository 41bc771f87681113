/** The options of the client and of each call. Durations are milliseconds. */

import type { CreateMeaning } from '../contract/provider-records.ts';
import type { Echo } from '../domain/provider-text.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { ApiOperation, OperationName } from './operations.ts';
import type { RequestSigner } from './signing.ts';
import type { Timeouts, Transport, TransportOptions } from './transport.ts';

export type TokenKind = 'application' | 'user';

export interface TokenRequest {
  kind: TokenKind;
  openId?: string | undefined;
  creates?: boolean;
}

/** The source of access tokens. The client stores none. */
export interface TokenSource {
  /**
   * Rejects if there is no token. The call then fails with `NOT_SENT`. `creates`: the call creates something, so a
   * token that the provider may have revoked leaves its outcome unknown.
   */
  token(request: TokenRequest): Promise<string>;
  /** Called when the provider rejected a token. */
  rejected?(kind: TokenKind, openId: string | undefined, token: string): void;
}

export interface GatedCall {
  operation: OperationName;
  /** The call waits behind create calls, whatever its operation. */
  background?: boolean;
  deadline?: number;
}

/** How a call ended, as far as the rate limit is concerned. */
export type CallEnd =
  /** The provider responded, so the request had arrived. */
  | 'answered'
  /** The request was written, and the client no longer waits for a response. */
  | 'unanswered'
  /** No connection was established. Nothing was written. */
  | 'unreachable'
  /** The client did not write the request. */
  | 'not-sent';

/** The rate limiter. All its methods receive the same object for one send. */
export interface CallGate {
  /**
   * Resolves when it is the call's turn. If it rejects, the call is not sent. `GateTooLateError` means that the turn
   * cannot come before the deadline, `GatePausedError` that calls of this kind wait until an operator resumes them.
   */
  pass(call: GatedCall): Promise<void>;
  /** Called immediately before writing, because connecting may have taken time. If false, nothing is written. */
  mayWrite?(call: GatedCall): boolean;
  /** The call has ended, written or not. */
  finished?(call: GatedCall, end: CallEnd): void;
  /** The provider returned 429, possibly with the time to wait. */
  limited?(retryAfterMs: number | undefined): void;
}

/** One call, for logs and metrics: without URL, body, token or personal data. */
export interface CallEvent {
  operation: ApiOperation;
  requestId: string;
  durationMs: number;
  /** `OK`, or the code of the thrown error. */
  outcome: string;
  httpStatus?: number;
  /** The envelope's code. */
  code?: string;
}

export interface PaymentsClientOptions {
  /** The API gateway: https, or http on loopback. May have a path prefix. */
  baseUrl: string;
  /** The base URL of the authorization page. */
  authUrl: string;
  appId: string;
  appSecret: string;
  redirectUri?: string;
  tokens: TokenSource;
  /** The token for `/v1/accounts`, `/v1/payments` and `/v2`. The spec does not say which. */
  gatewayToken: TokenKind;
  /** The token for `/v1/mid-open-api`. */
  tradeToken: TokenKind;
  /** The `Authorization` header of the trade endpoints: `Bearer <token>` or the bare token. */
  tradeAuthScheme: 'Bearer' | 'none';
  signer: RequestSigner;
  /** How ids in responses are compared with those of the request. */
  echo: Echo;
  /** The codes that a create call may return, and `http:STATUS`. Only these have a known meaning. */
  createCodes: ReadonlyMap<string, CreateMeaning>;
  gate?: CallGate;
  timeouts?: Partial<Timeouts>;
  /** The maximum size of a response. Default 1 MiB. */
  maxBodyBytes?: number;
  /** The maximum number of connections to the gateway. Default 32. */
  connections?: number;
  /** The clock for all times and waits of a call, and the randomness for request ids. */
  runtime: Runtime;
  /** Creates the transport. Default: HTTP. */
  transport?: (options: TransportOptions) => Transport;
  onCall?: (event: CallEvent) => void;
  /** The allowed hosts (`name` or `name:port`). Without it, which only a test may do: every host except private addresses. */
  allowedHosts?: string[];
}

export interface CallOptions {
  /** The user for whom the application acts, if user tokens are used. */
  openId?: string | undefined;
  /** A background call waits behind create calls in the rate limiter. */
  background?: boolean;
  /**
   * Nothing is sent at or after this time, on the client's monotonic clock. A waiting call fails as soon as its turn
   * cannot come before it.
   */
  deadline?: number;
  /**
   * Called when it is the call's turn, immediately before the send. If it throws or rejects, nothing is sent. It may take
   * time: deadline and gate are checked again before the first byte is written.
   */
  beforeSend?: () => void | Promise<void>;
  /** Sends a read over a new connection, as calls with an effect are: a kept one may be dead, and nobody repeats the read. */
  fresh?: boolean;
}
