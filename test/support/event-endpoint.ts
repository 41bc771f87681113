/** A receiver of events on a real socket, and the file that names it to workers. */
import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import { deliveryOptions } from '../../src/client/events.ts';
import { anyEventSchema, type DeliveryLimits, type EndpointState } from '../../src/contract/events.ts';
import { eventDeliveryWorkflowId } from '../../src/contract/ids.ts';
import { endpointStateQuery } from '../../src/contract/workflows.ts';
import { newDeliveryRecord } from '../../src/domain/events-delivery.ts';
import {
  type EventRequest,
  type EventResponse,
  type EventTransport,
  HttpEventTransport,
} from '../../src/webhooks/event-transport.ts';
import type { eventDelivery } from '../../src/workflows/events/event-delivery.ts';
import type { World } from '../../worlds/engine/world.ts';
import { eventually } from './eventually.ts';
import { secretFile } from './secret-file.ts';

export interface ReceivedEvent {
  id: string;
  headers: Record<string, string>;
  body: string;
  event: z.output<typeof anyEventSchema>;
}

/** What the receiver answers; `never`: nothing. */
type Answer = number | 'never';

/** Emits the id of each event that an endpoint received and never answers. */
const neverAnswered = new EventEmitter();

/** Sends over HTTP, and stops the clock of a virtual world until the endpoint has decided on its answer. */
export class StandingTransport implements EventTransport {
  private readonly http = new HttpEventTransport();
  private readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  async post(request: EventRequest): Promise<EventResponse> {
    const decided = new AbortController();
    const answer = this.http.post(request).finally(() => decided.abort());
    const never = once(neverAnswered, request.headers['webhook-id'] ?? '', { signal: decided.signal });
    await this.world.withClockStopped(Promise.race([answer, never.catch(() => undefined)]));
    return answer;
  }
}

export class EventEndpoint {
  readonly url: string;
  /** In the order in which they arrived, whatever the answer was. */
  readonly received: ReceivedEvent[] = [];
  answer: (event: ReceivedEvent) => Answer = () => 204;
  private readonly close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.close = close;
  }

  static async start(): Promise<EventEndpoint> {
    const server = createServer((request, response) => {
      void read(request).then((event) => {
        endpoint.received.push(event);
        const answer = endpoint.answer(event);
        if (answer === 'never') return void neverAnswered.emit(event.id);
        // Whoever follows it would be seen on the same socket.
        response.writeHead(answer, answer >= 300 && answer < 400 ? { location: endpoint.url } : {}).end('ok');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = z.object({ port: z.number() }).parse(server.address());
    const endpoint = new EventEndpoint(`http://127.0.0.1:${port}/events`, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return endpoint;
  }

  /** The events of one payout that were accepted, each as often as it was. */
  of(partnerOrderId: string): ReceivedEvent[] {
    return this.received.filter(
      ({ event: { data } }) => 'partnerOrderId' in data && data.partnerOrderId === partnerOrderId,
    );
  }

  typesOf(partnerOrderId: string): string[] {
    return this.of(partnerOrderId).map(({ event }) => event.type);
  }

  /** Waits for an event of this type about the payout. */
  until(partnerOrderId: string, type: string): Promise<ReceivedEvent> {
    return eventually(() => this.of(partnerOrderId).find(({ event }) => event.type === type));
  }

  stop(): Promise<void> {
    return this.close();
  }
}

async function read(request: IncomingMessage): Promise<ReceivedEvent> {
  const body = await text(request);
  const headers = z.record(z.string(), z.string()).parse(request.headers);
  return { id: headers['webhook-id'] ?? '', headers, body, event: anyEventSchema.parse(JSON.parse(body)) };
}

export function hmacSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** `PAYOUTS_EVENTS_FILE` with these endpoints. The receivers of tests are on loopback. */
export function eventsFile(endpoints: readonly Record<string, unknown>[]): string {
  const entries = endpoints.map((endpoint) => ({
    ...{ name: 'shop', application: 'default', secrets: [hmacSecret()], allowPrivateAddress: true },
    ...endpoint,
  }));
  return secretFile(JSON.stringify(entries));
}

/** Starts the delivery to an endpoint with smaller limits, before its first event. */
export async function startDelivery(
  client: Client,
  endpoint: string,
  limits: Partial<DeliveryLimits>,
): Promise<void> {
  const key = { environment: 'test', app: 'default', endpoint };
  await client.workflow.start<typeof eventDelivery>('eventDelivery', {
    ...deliveryOptions(key),
    args: [key, newDeliveryRecord(limits)],
  });
}

export function deliveryOf(client: Client, endpoint = 'shop') {
  return client.workflow.getHandle<typeof eventDelivery>(
    eventDeliveryWorkflowId('test', 'default', endpoint),
  );
}

/** Waits until the state of the delivery matches. */
export function untilEndpoint(
  client: Client,
  wanted: (state: EndpointState) => boolean,
  endpoint = 'shop',
): Promise<EndpointState> {
  return eventually(async () => {
    const state = await deliveryOf(client, endpoint)
      .query(endpointStateQuery)
      .catch(() => undefined);
    return state && wanted(state) ? state : undefined;
  });
}
