/** What a client is built from, and what each call may say. Durations are milliseconds. */
import type { CreateMeaning } from '../domain/provider-records.ts';
import type { Surroundings } from '../surroundings/surroundings.ts';
import type { ApiOperation, OperationName } from './operations.ts';
import type { RequestSigner } from './signing.ts';
import type { Timeouts, Transport, TransportOptions } from './transport.ts';

export type TokenKind = 'application' | 'user';

/** Where access tokens come from; the client keeps none. */
export interface TokenSource {
  /** Rejects when there is no token: the call then fails with `NotSentError`. */
  token(request: { kind: TokenKind; openId?: string }): Promise<string>;
  /** Told when the service did not accept a token. */
  rejected?(kind: TokenKind, openId: string | undefined, token: string): void;
}

export interface GatedCall {
  operation: OperationName;
  /** Waits behind creates, whatever the operation. */
  background?: boolean;
  deadline?: number;
  signal?: AbortSignal;
}

/** What a call came to, as far as the rate limit is concerned. */
export type CallEnd =
  /** The provider answered, whatever it said: the request had arrived. */
  | 'answered'
  /** It was written, and nobody waits for an answer any more. */
  | 'unanswered'
  /** No connection came about: nothing was written. */
  | 'unreachable'
  /** We decided not to write it. */
  | 'not-sent';

/** The rate limit. It is given the same object for one send throughout. */
export interface CallGate {
  /**
   * Awaited before each send: resolves when it is the call's turn. A rejection means that the call is not sent; a
   * `GateTooLateError`, that its turn cannot come before its deadline.
   */
  pass(call: GatedCall): Promise<void>;
  /** Asked in the moment of writing, for a connection may have taken its time; false: nothing is written. */
  mayWrite?(call: GatedCall): boolean;
  /** The call is over, whether it was written or not. */
  finished?(call: GatedCall, end: CallEnd): void;
  /** The provider answered 429, and perhaps said how long to wait. */
  limited?(retryAfterMs: number | undefined): void;
}

/** One call, as logs and metrics may see it: no URL, body, token or personal data. */
export interface CallEvent {
  operation: ApiOperation;
  requestId: string;
  durationMs: number;
  /** `OK`, or the stable code of the error thrown. */
  outcome: string;
  httpStatus?: number;
  /** The envelope's code. */
  code?: string;
}

export interface PaymentsClientOptions {
  /** The API gateway: https, or http on loopback. A path prefix is kept. */
  baseUrl: string;
  /** The authorization page's web address. */
  authUrl: string;
  appId: string;
  appSecret: string;
  redirectUri?: string;
  tokens: TokenSource;
  /** Which token goes to `/v1/accounts`, `/v1/payments` and `/v2` (the spec does not say). */
  gatewayToken: TokenKind;
  /** Which token goes to `/v1/mid-open-api`. */
  tradeToken: TokenKind;
  /** How the trade endpoints' `Authorization` is written: `Bearer <token>` or the bare token. */
  tradeAuthScheme: 'Bearer' | 'none';
  signer: RequestSigner;
  /** The only codes that prove that a create did not happen. */
  createCodes: ReadonlyMap<string, CreateMeaning>;
  gate?: CallGate;
  timeouts?: Partial<Timeouts>;
  /** Largest answer read, default 1 MiB. */
  maxBodyBytes?: number;
  /** Connections kept to the gateway, default 32. */
  connections?: number;
  /** Every moment and wait of a call is by this clock, and request ids are by this randomness. */
  surroundings: Surroundings;
  /** Makes what carries the requests; HTTP by default. */
  transport?: (options: TransportOptions) => Transport;
  onCall?: (event: CallEvent) => void;
  /** Hosts (`name` or `name:port`) that may be talked to. Default: those of `baseUrl` and `authUrl`. */
  allowedHosts?: string[];
}

export interface CallOptions {
  /** The user the application acts for, where user tokens are used. */
  openId?: string;
  /** Nobody waits for it: at the gate it goes behind creates. */
  background?: boolean;
  /** Before the send: not sent. After it: the answer is given up. */
  signal?: AbortSignal;
  /**
   * On the client's clock, which is monotonic: nothing is sent at or after it. A call that waits for its turn fails as soon
   * as it is known that its turn cannot come before.
   */
  deadline?: number;
  /**
   * Called once it is the call's turn, last before the send; if it throws or rejects, nothing is sent. It may take a
   * while: deadline, signal and gate are checked again when the first byte is about to be written.
   */
  beforeSend?: () => void | Promise<void>;
}
