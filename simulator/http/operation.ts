/** One endpoint of the spec: where it is, how it is wrapped, what it needs, what it does. */
import type { IncomingHttpHeaders } from 'node:http';
import type { OperationName } from '../faults/rules.ts';
import type { Order } from '../orders/order.ts';
import type { App } from '../settings.ts';
import type { AccessToken } from '../state/tokens.ts';
import type { World } from '../world.ts';
import type { Style } from './envelope.ts';

export interface Received {
  world: World;
  /** Undefined until the request is authorised, and for operations without a token. */
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
  /** The order that this request brought into being. */
  created?: Order;
  /** What has to happen before the answer leaves: an early notification. */
  beforeAnswer?: () => Promise<void>;
}

export interface Operation {
  name: OperationName;
  method: 'GET' | 'POST';
  path: string;
  style: Style;
  auth: 'none' | 'gateway' | 'trade';
  /** Decides and commits in one go: nothing else happens in between. Throws `Refusal`. */
  handle: (received: Received) => Outcome;
  /** The data of a success, without its effect. Throws `Refusal`. */
  pretend?: (received: Received) => unknown;
}
