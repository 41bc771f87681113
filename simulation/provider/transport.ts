/** A process's way to the provider, in virtual time: connections, delays, losses, and a provider without a socket. */
import type { InProcessAnswer, InProcessSimulator } from '../../simulator/index.ts';
import {
  type Attempt,
  type Exchange,
  errorWithCode,
  runAttempt,
  type Transport,
  type TransportOptions,
  type WireRequest,
} from '../../src/payments/transport.ts';
import { abortable, sleep } from '../../src/surroundings/surroundings.ts';
import type { World } from '../world/world.ts';

/** What becomes of one exchange on its way. A loss is noticed by nobody: the total time-out ends the exchange. */
export interface Trip {
  connectMs: number;
  requestMs: number;
  answerMs: number;
  fate: 'arrives' | 'refused' | 'request-lost' | 'answer-lost';
}

export interface Network {
  provider: Pick<InProcessSimulator, 'request'>;
  /** Whatever has left goes on by its clock; the process itself waits by its own. */
  world: World;
  /** Asked once for each exchange, when it begins. */
  trip: (request: WireRequest) => Trip;
  /** Whether nothing gets through between this process and the provider now. What is on its way then is lost. */
  isCutOff: () => boolean;
}

export class SimulatedTransport implements Transport {
  readonly #options: TransportOptions;
  readonly #network: Network;
  readonly #connections: Connections;
  readonly #underWay = new Set<Promise<Exchange>>();
  #closed = false;

  constructor(options: TransportOptions, network: Network) {
    this.#options = options;
    this.#network = network;
    this.#connections = new Connections(options.connections);
  }

  async exchange(request: WireRequest): Promise<Exchange> {
    const exchange = runAttempt(request, this.#options, (attempt) => this.#carry(request, attempt));
    this.#underWay.add(exchange);
    try {
      return await exchange;
    } finally {
      this.#underWay.delete(exchange);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#underWay);
  }

  async #carry(request: WireRequest, { signal, mayWrite }: Attempt): Promise<Exchange> {
    if (this.#closed) throw errorWithCode('CLOSED');
    const trip = this.#network.trip(request);
    await this.#connections.take(signal);
    try {
      await this.#connect(trip, signal);
      signal.throwIfAborted();
      if (!mayWrite()) throw errorWithCode('WITHHELD');
      const answer = await abortable(signal, this.#roundTrip(request, trip));
      // A process that stands still takes it in when it goes on, and one that died never does.
      await sleep(this.#options.clock, 0, signal);
      return exchangeOf(answer, this.#options.maxBodyBytes);
    } finally {
      this.#connections.give();
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

  /** There and back, whatever becomes of the process meanwhile. Open for good where one of the two is lost. */
  #roundTrip({ method, path, headers, body }: WireRequest, trip: Trip): Promise<InProcessAnswer> {
    const { provider, world, isCutOff } = this.#network;
    return new Promise((resolve) => {
      const back = (answer: InProcessAnswer) => {
        if (trip.fate !== 'answer-lost' && !isCutOff()) resolve(answer);
      };
      const there = async () => {
        if (trip.fate === 'request-lost' || isCutOff()) return;
        const answer = await provider.request({ method, path, headers, body });
        world.at(trip.answerMs, () => back(answer));
      };
      // Not by `after`, which keeps the async context: the provider does not run in anybody's activity.
      world.at(trip.requestMs, () => world.spawn(there()));
    });
  }
}

function exchangeOf(answer: InProcessAnswer, maxBodyBytes: number): Exchange {
  if (answer.is === 'dropped') throw errorWithCode('UND_ERR_SOCKET');
  const { status } = answer;
  if (answer.is === 'broken-answer')
    return { kind: 'broken-answer', status, transportCode: 'UND_ERR_SOCKET', tooLarge: false };
  const { headers, body } = answer;
  if (body.length > maxBodyBytes)
    return { kind: 'broken-answer', status, transportCode: 'BODY_TOO_LARGE', tooLarge: true };
  return { kind: 'answer', status, body, retryAfter: headers['retry-after'], date: headers['date'] };
}

/** Each carries one exchange at a time. Whoever comes when all are taken waits in line. */
class Connections {
  #free: number;
  readonly #line: (() => void)[] = [];

  constructor(free: number) {
    this.#free = free;
  }

  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    let turn = () => {};
    const itsTurn = new Promise<void>((resolve) => {
      turn = resolve;
    });
    this.#line.push(turn);
    try {
      await abortable(signal, itsTurn);
    } catch (error) {
      const at = this.#line.indexOf(turn);
      // It may have been its turn in the same moment.
      if (at < 0) this.give();
      else this.#line.splice(at, 1);
      throw error;
    }
  }

  give(): void {
    const next = this.#line.shift();
    if (next) next();
    else this.#free += 1;
  }
}
