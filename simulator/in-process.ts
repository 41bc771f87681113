/**
 * A simulator without a socket, in the surroundings that it is given: a call is a function, and so is a notification.
 * With a virtual clock and seeded randomness, the same calls at the same times have the same answers to the byte.
 */
import { AUTHORIZATION_PATH, askedFor, type Decision, decided } from './authorization.ts';
import { Control, type SimulatorControl } from './control/control.ts';
import { operations } from './endpoints/index.ts';
import { type Answer, failure, noSuchEndpoint } from './http/envelope.ts';
import type { AnswerSink, HalfSent } from './http/exchange.ts';
import type { Operation } from './http/operation.ts';
import { serve } from './http/serve.ts';
import type { Courier, Letter } from './notifications/courier.ts';
import type { App, SettingsChange } from './settings.ts';
import type { Clock, Surroundings } from './surroundings.ts';
import { World } from './world.ts';

export interface InProcessOptions {
  surroundings: Surroundings;
  settings?: SettingsChange | undefined;
  apps?: readonly App[] | undefined;
  /** Takes a notification to its receiver and answers the HTTP status; rejects where the receiver cannot be reached. */
  deliver: (letter: Letter) => Promise<number>;
}

export interface InProcessRequest {
  method: 'GET' | 'POST';
  /** With the query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: Buffer | undefined;
}

export type InProcessAnswer =
  | { is: 'answer'; status: number; headers: Record<string, string>; body: Buffer }
  /** The headers and half of the body came, and then the connection ended. */
  | { is: 'broken-answer'; status: number }
  /** The connection ended without an answer. */
  | { is: 'dropped' };

export interface InProcessSimulator {
  control: SimulatorControl;
  /** Arrives in the moment of the call. What it does is done whether or not anybody waits for the answer. */
  request(request: InProcessRequest): Promise<InProcessAnswer>;
  /** What a user does with the authorization page at `link`: where they are sent. Throws where the page refuses. */
  decide(link: string, decision: Decision): string;
  /** Cuts what is open; later requests are dropped. */
  close(): Promise<void>;
}

export function simulatorInProcess(options: InProcessOptions): InProcessSimulator {
  return new InProcess(options);
}

/** As over HTTP, where the router takes no longer ones in a path. */
const MOST_PARAM_CHARACTERS = 100;

class InProcess implements InProcessSimulator {
  readonly control: SimulatorControl;
  readonly #world: World;
  readonly #open = new Set<OpenCall>();
  #closed = false;

  constructor({ deliver, ...parts }: InProcessOptions) {
    const courier = new InProcessCourier(deliver, parts.surroundings.clock);
    this.#world = new World({ ...parts, courier });
    this.control = new Control(this.#world);
  }

  async request(request: InProcessRequest): Promise<InProcessAnswer> {
    if (this.#closed) return { is: 'dropped' };
    const call = new OpenCall(this.#world.clock);
    this.#open.add(call);
    try {
      // Not waited for: what is served may go on after the connection was cut.
      this.#serve(request, call).catch(call.fail);
      return await call.answer;
    } finally {
      this.#open.delete(call);
    }
  }

  decide(link: string, decision: Decision): string {
    const { pathname, search } = new URL(link);
    if (pathname !== AUTHORIZATION_PATH) throw new Error(`the authorization page is not at ${pathname}`);
    const asked = askedFor(this.#world, fieldsOf(search));
    if (typeof asked === 'string') throw new Error(asked);
    return decided(this.#world, asked, decision);
  }

  async close(): Promise<void> {
    this.#closed = true;
    // First, for closing lets go what a fault holds, and nobody hears of that any more.
    for (const call of this.#open) call.drop();
    await this.#world.close();
  }

  async #serve({ method, path, headers, body }: InProcessRequest, call: OpenCall): Promise<void> {
    const arrivedAtMs = this.#world.clock.nowMs();
    const queryAt = path.includes('?') ? path.indexOf('?') : path.length;
    const found = operationAt(method, path.slice(0, queryAt));
    if (!found) return call.send(noSuchEndpoint());
    if (Object.values(found.params).some((value) => value.length > MOST_PARAM_CHARACTERS))
      return call.send(failure(414, 414, 'a part of the path is too long'));
    const incoming = {
      params: found.params,
      query: fieldsOf(path.slice(queryAt)),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      rawBody: method === 'POST' && body ? body.toString('utf8') : '',
      arrivedAtMs,
    };
    return serve(this.#world, found.operation, incoming, call);
  }
}

class OpenCall implements AnswerSink {
  readonly answer: Promise<InProcessAnswer>;
  /** For a fault of the simulator itself. */
  fail: (error: unknown) => void = () => {};
  readonly #clock: Clock;
  #answered: (answer: InProcessAnswer) => void = () => {};
  /** The status of the answer of which half was sent. */
  #halfSent: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.answer = new Promise((resolve, reject) => {
      this.#answered = resolve;
      this.fail = reject;
    });
  }

  send({ status, contentType, text, headers }: Answer): void {
    const body = Buffer.from(text);
    const common = {
      'content-type': contentType,
      'content-length': String(body.length),
      date: new Date(this.#clock.wallMs()).toUTCString(),
    };
    this.#answered({ is: 'answer', status, headers: { ...common, ...headers }, body });
  }

  /** The connection ends here and now, with whatever was sent. */
  drop(): void {
    const status = this.#halfSent;
    this.#answered(status === undefined ? { is: 'dropped' } : { is: 'broken-answer', status });
  }

  async sendHalf({ headers: _unsent, ...answer }: Answer): Promise<HalfSent> {
    this.#halfSent = answer.status;
    return { sendRest: () => this.send(answer), breakOff: () => this.drop() };
  }
}

class InProcessCourier implements Courier {
  readonly #deliver: InProcessOptions['deliver'];
  readonly #clock: Clock;
  readonly #underWay = new Set<(reason: Error) => void>();

  constructor(deliver: InProcessOptions['deliver'], clock: Clock) {
    this.#deliver = deliver;
    this.#clock = clock;
  }

  async deliver(letter: Letter, timeoutMs: number): Promise<number> {
    let giveUp: (reason: Error) => void = () => {};
    const givenUp = new Promise<never>((_resolve, reject) => {
      giveUp = reject;
    });
    const callOff = this.#clock.after(timeoutMs, () => giveUp(new Error('the receiver took too long')));
    this.#underWay.add(giveUp);
    try {
      return await Promise.race([this.#deliver(letter), givenUp]);
    } finally {
      callOff();
      this.#underWay.delete(giveUp);
    }
  }

  async close(): Promise<void> {
    for (const giveUp of this.#underWay) giveUp(new Error('the simulator was closed'));
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

/** The values of `:name` in `template`; undefined where `path` is another one. */
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

/** A field that is given more than once counts as not given, as over HTTP. */
function fieldsOf(search: string): Record<string, string> {
  const query = new URLSearchParams(search);
  return Object.fromEntries([...query].filter(([name]) => query.getAll(name).length === 1));
}
