/** One endpoint of the spec: its path, envelope, authorization and handler. */
import type { IncomingHttpHeaders } from 'node:http';
import type { OperationName } from '../faults/rules.ts';
import type { Order } from '../orders/order.ts';
import type { App } from '../settings.ts';
import type { AccessToken } from '../state/tokens.ts';
import type { World } from '../world.ts';
import type { Style } from './envelope.ts';

export interface Received {
  world: World;
  /** Undefined until the request is authorized, and for operations without a token. */
  app: App | undefined;
  token: AccessToken | undefined;
  params: Record<string, string>;
  query: Record<string, string>;
  headers: IncomingHttpHeaders;
  rawBody: string;
}

export interface Outcome {
  data: unknown;
  status?: number;
  /** The order that this request created. */
  created?: Order;
  /** Runs before the answer is sent: an early notification. */
  beforeAnswer?: () => Promise<void>;
}

export interface Operation {
  name: OperationName;
  method: 'GET' | 'POST';
  path: string;
  style: Style;
  auth: 'none' | 'gateway' | 'trade';
  /** Checks and commits synchronously, so that nothing happens in between. Throws `Refusal`. */
  handle: (received: Received) => Outcome;
  /** Returns the data of a success, without its effect. Throws `Refusal`. */
  preview?: (received: Received) => unknown;
}
