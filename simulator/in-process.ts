/**
 * A simulator without a socket, on a given clock and randomness: calls and notifications are function calls. With a
 * virtual clock and seeded randomness, the same calls at the same times get byte-identical answers.
 */
import {
  AUTHORIZATION_PATH,
  type Decision,
  readAuthorizationRequest,
  redirectTarget,
} from './authorization.ts';
import { Control, type SimulatorControl } from './control/control.ts';
import { operations } from './endpoints/index.ts';
import { type Answer, failure, noSuchEndpoint } from './http/envelope.ts';
import type { AnswerSink, HalfSent } from './http/exchange.ts';
import type { Operation } from './http/operation.ts';
import { serve } from './http/serve.ts';
import type { NotificationRequest, NotificationTransport } from './notifier.ts';
import type { Clock, Runtime } from './runtime.ts';
import type { App, SettingsChange } from './settings.ts';
import { World, type WorldParts } from './world.ts';

export interface InProcessOptions {
  runtime: Runtime;
  settings?: SettingsChange | undefined;
  apps?: readonly App[] | undefined;
  /** See `WorldParts`. */
  remembers?: WorldParts['remembers'];
  /** Sends a notification to its receiver and returns the HTTP status. Rejects if the receiver cannot be reached. */
  deliver: (notification: NotificationRequest) => Promise<number>;
}

export interface InProcessRequest {
  method: 'GET' | 'POST';
  /** Includes the query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: Buffer | undefined;
  /** Its connection has carried a request before. */
  isOnUsedConnection?: boolean;
}

export type InProcessAnswer =
  | { is: 'answer'; status: number; headers: Record<string, string>; body: Buffer }
  /** The connection ended after the headers and half of the body. */
  | { is: 'broken-response'; status: number }
  /** The connection ended without an answer. */
  | { is: 'dropped' };

export interface InProcessSimulator {
  control: SimulatorControl;
  /** The request arrives at once. It takes effect even if the caller does not wait for the answer. */
  request(request: InProcessRequest): Promise<InProcessAnswer>;
  /** Decides as a user on the authorization page at `link` and returns the redirect. Throws if the page refuses. */
  decide(link: string, decision: Decision): string;
  /** Cuts open connections and drops later requests. */
  close(): Promise<void>;
}

export function simulatorInProcess(options: InProcessOptions): InProcessSimulator {
  return new InProcess(options);
}

/** The limit of the HTTP router for a path parameter. */
const MAX_PARAM_LENGTH = 100;

class InProcess implements InProcessSimulator {
  readonly control: SimulatorControl;
  readonly #world: World;
  readonly #open = new Set<OpenCall>();
  #closed = false;

  constructor({ deliver, ...parts }: InProcessOptions) {
    const transport = new InProcessTransport(deliver, parts.runtime.clock);
    this.#world = new World({ ...parts, transport });
    this.control = new Control(this.#world);
  }

  async request(request: InProcessRequest): Promise<InProcessAnswer> {
    if (this.#closed) return { is: 'dropped' };
    const call = new OpenCall(this.#world.clock);
    this.#open.add(call);
    try {
      // Not awaited: serving may continue after the connection is cut.
      this.#serve(request, call).catch(call.fail);
      return await call.answer;
    } finally {
      this.#open.delete(call);
    }
  }

  decide(link: string, decision: Decision): string {
    const { pathname, search } = new URL(link);
    if (pathname !== AUTHORIZATION_PATH) throw new Error(`the authorization page is not at ${pathname}`);
    const asked = readAuthorizationRequest(this.#world, fieldsOf(search));
    if (typeof asked === 'string') throw new Error(asked);
    return redirectTarget(this.#world, asked, decision);
  }

  async close(): Promise<void> {
    this.#closed = true;
    // Drop open calls first: closing the world releases held requests, whose answers must not be delivered.
    for (const call of this.#open) call.drop();
    await this.#world.close();
  }

  async #serve(request: InProcessRequest, call: OpenCall): Promise<void> {
    const { method, path, headers, body, isOnUsedConnection = false } = request;
    const arrivedAtMs = this.#world.clock.nowMs();
    const queryAt = path.includes('?') ? path.indexOf('?') : path.length;
    const found = operationAt(method, path.slice(0, queryAt));
    if (!found) return call.send(noSuchEndpoint());
    if (Object.values(found.params).some((value) => value.length > MAX_PARAM_LENGTH))
      return call.send(failure(414, 414, 'a part of the path is too long'));
    const incoming = {
      params: found.params,
      query: fieldsOf(path.slice(queryAt)),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      rawBody: method === 'POST' && body ? body.toString('utf8') : '',
      arrivedAtMs,
      isOnUsedConnection,
    };
    return serve(this.#world, found.operation, incoming, call);
  }
}

class OpenCall implements AnswerSink {
  readonly answer: Promise<InProcessAnswer>;
  /** Rejects the call with an error of the simulator itself. */
  fail: (error: unknown) => void = () => {};
  readonly #clock: Clock;
  #answered: (answer: InProcessAnswer) => void = () => {};
  /** Status of an answer of which half has been sent. */
  #halfSent: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.answer = new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.fail = reject;
    });
  }

  send({ status, contentType, text, body = Buffer.from(text), headers }: Answer): void {
    const common = {
      'content-type': contentType,
      'content-length': String(body.length),
      date: new Date(this.#clock.wallMs()).toUTCString(),
    };
    this.#answered({ is: 'answer', status, headers: { ...common, ...headers }, body });
  }

  /** Ends the connection with what has been sent so far. */
  drop(): void {
    const status = this.#halfSent;
    this.#answered(status === undefined ? { is: 'dropped' } : { is: 'broken-response', status });
  }

  async sendHalf({ headers: _unsent, ...answer }: Answer): Promise<HalfSent> {
    this.#halfSent = answer.status;
    return { sendRest: () => this.send(answer), cut: () => this.drop() };
  }
}

class InProcessTransport implements NotificationTransport {
  readonly #deliver: InProcessOptions['deliver'];
  readonly #clock: Clock;
  readonly #pending = new Set<(reason: Error) => void>();

  constructor(deliver: InProcessOptions['deliver'], clock: Clock) {
    this.#deliver = deliver;
    this.#clock = clock;
  }

  async deliver(notification: NotificationRequest, timeoutMs: number): Promise<number> {
    let abort: (reason: Error) => void = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      abort = reject;
    });
    const cancelTimer = this.#clock.after(timeoutMs, () => abort(new Error('the receiver took too long')));
    this.#pending.add(abort);
    try {
      return await Promise.race([this.#deliver(notification), aborted]);
    } finally {
      cancelTimer();
      this.#pending.delete(abort);
    }
  }

  async close(): Promise<void> {
    for (const abort of this.#pending) abort(new Error('the simulator was closed'));
  }
}

function operationAt(
  method: string,
  path: string,
): { operation: Operation; params: Record<string, string> } | undefined {
  for (const operation of operations) {
    const params = operation.method === method ? paramsIn(path, operation.path) : undefined;
    if (params) return { operation, params };
  }
  return undefined;
}

/** The values of the `:name` parameters; undefined if `path` does not match `template`. */
function paramsIn(path: string, template: string): Record<string, string> | undefined {
  const [given, wanted] = [path.split('/'), template.split('/')];
  if (given.length !== wanted.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return undefined;
  }
  return params;
}

/** A repeated field counts as absent, as over HTTP. */
function fieldsOf(search: string): Record<string, string> {
  const query = new URLSearchParams(search);
  return Object.fromEntries([...query].filter(([name]) => query.getAll(name).length === 1));
}
