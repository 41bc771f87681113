/** The provider client's transport in virtual time: connections, delays and losses, without a socket. */
import type { InProcessAnswer, InProcessSimulator } from '../../simulator/index.ts';
import {
  type Attempt,
  type Exchange,
  errorWithCode,
  receivedExchange,
  runAttempt,
  type Transport,
  type TransportOptions,
  type WireRequest,
} from '../../src/payments/transport.ts';
import { abortable, sleep } from '../../src/runtime/runtime.ts';
import type { World } from '../engine/world.ts';

/** The conditions of one exchange. A loss causes no error: the total timeout ends the exchange. */
export interface Trip {
  connectMs: number;
  requestMs: number;
  answerMs: number;
  fate: 'arrives' | 'refused' | 'request-lost' | 'answer-lost';
}

export interface Network {
  provider: Pick<InProcessSimulator, 'request'>;
  /** Drives the request after it has left. The process itself waits on its own clock. */
  world: World;
  /** Called once at the start of each exchange. */
  trip: (request: WireRequest) => Trip;
  /** Called when the process writes a request, before it arrives. */
  written?: (() => void) | undefined;
  /** Whether the process is cut off from the provider now. Messages in flight are lost. */
  isCutOff: () => boolean;
}

export class SimulatedTransport implements Transport {
  readonly #options: TransportOptions;
  readonly #network: Network;
  readonly #connections: Connections;
  readonly #inFlight = new Set<Promise<Exchange>>();
  #closed = false;

  constructor(options: TransportOptions, network: Network) {
    this.#options = options;
    this.#network = network;
    this.#connections = new Connections(options.connections);
  }

  async exchange(request: WireRequest): Promise<Exchange> {
    const exchange = runAttempt(request, this.#options, (attempt) => this.#attempt(request, attempt));
    this.#inFlight.add(exchange);
    try {
      return await exchange;
    } finally {
      this.#inFlight.delete(exchange);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#inFlight);
  }

  async #attempt(request: WireRequest, { signal, mayWrite }: Attempt): Promise<Exchange> {
    if (this.#closed) throw errorWithCode('CLOSED');
    const trip = this.#network.trip(request);
    await this.#connections.acquire(signal);
    const isOnUsedConnection = !request.isFresh && this.#connections.takeKept(this.#options.clock.nowMs());
    try {
      await this.#connect(trip, signal);
      signal.throwIfAborted();
      if (!mayWrite()) throw errorWithCode('WITHHELD');
      this.#network.written?.();
      const answer = await abortable(signal, this.#roundTrip({ ...request, isOnUsedConnection }, trip));
      // A frozen process receives the answer when it is resumed. A process that has ended never does.
      await sleep(this.#options.clock, 0, signal);
      if (answer.is === 'answer' && !request.isFresh) this.#connections.keep(this.#options.clock.nowMs());
      return exchangeOf(answer, request, this.#options.maxBodyBytes);
    } finally {
      this.#connections.release();
    }
  }

  async #connect({ connectMs, fate }: Trip, signal: AbortSignal): Promise<void> {
    const { clock, timeouts } = this.#options;
    await sleep(clock, Math.min(connectMs, timeouts.connectMs), signal);
    if (connectMs >= timeouts.connectMs || this.#network.isCutOff()) {
      await sleep(clock, Math.max(0, timeouts.connectMs - connectMs), signal);
      throw errorWithCode('UND_ERR_CONNECT_TIMEOUT');
    }
    if (fate === 'refused') throw errorWithCode('ECONNREFUSED');
  }

  /** Sends the request and returns the answer, independently of the process. Never resolves if either is lost. */
  #roundTrip(
    { method, path, headers, body, isOnUsedConnection }: WireRequest & { isOnUsedConnection: boolean },
    trip: Trip,
  ): Promise<InProcessAnswer> {
    const { provider, world, isCutOff } = this.#network;
    return new Promise((resolve) => {
      const deliver = (answer: InProcessAnswer) => {
        if (trip.fate !== 'answer-lost' && !isCutOff()) resolve(answer);
      };
      const send = async () => {
        if (trip.fate === 'request-lost' || isCutOff()) return;
        const answer = await provider.request({ method, path, headers, body, isOnUsedConnection });
        world.at(trip.answerMs, () => deliver(answer));
      };
      // `after` would keep the async context, and the provider must not run in the context of an activity.
      world.at(trip.requestMs, () => world.spawn(send()));
    });
  }
}

/** What undici says of a body that ends early, on a kept connection and on one that ends with the response. */
const [CUT, CUT_SHORT] = ['UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'];

function exchangeOf(answer: InProcessAnswer, { isFresh }: WireRequest, maxBodyBytes: number): Exchange {
  if (answer.is === 'dropped') throw errorWithCode('UND_ERR_SOCKET');
  const { status } = answer;
  if (answer.is === 'broken-response')
    return { kind: 'broken-response', status, transportCode: isFresh ? CUT_SHORT : CUT, tooLarge: false };
  const { headers, body } = answer;
  return receivedExchange({ status, headers, body }, maxBodyBytes);
}

/** How long undici keeps an idle connection. */
const KEPT_FOR_MS = 4_000;

/** A connection carries one exchange at a time. Further exchanges wait in a queue. */
class Connections {
  #free: number;
  /** When each idle connection is closed. */
  #keptUntilMs: number[] = [];
  readonly #queue: (() => void)[] = [];

  constructor(free: number) {
    this.#free = free;
  }

  async acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    let grant = () => {};
    const granted = new Promise<void>((resolve) => {
      grant = resolve;
    });
    this.#queue.push(grant);
    try {
      await abortable(signal, granted);
    } catch (error) {
      const at = this.#queue.indexOf(grant);
      // A connection may have been granted at the same moment.
      if (at < 0) this.release();
      else this.#queue.splice(at, 1);
      throw error;
    }
  }

  keep(nowMs: number): void {
    this.#keptUntilMs.push(nowMs + KEPT_FOR_MS);
  }

  /** Whether there is an idle connection, which then carries the next exchange. */
  takeKept(nowMs: number): boolean {
    this.#keptUntilMs = this.#keptUntilMs.filter((untilMs) => untilMs > nowMs);
    return this.#keptUntilMs.pop() !== undefined;
  }

  release(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#free += 1;
  }
}
