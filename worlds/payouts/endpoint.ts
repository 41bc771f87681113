/** The endpoints of a world, which get events. Some of them fail for a while. */
import { createHmac } from 'node:crypto';
import type { EventEndpoints } from '../../src/config/events.ts';
import { sleep } from '../../src/runtime/runtime.ts';
import type { EventRequest, EventResponse, EventTransport } from '../../src/webhooks/event-transport.ts';
import { readSigningKey } from '../../src/webhooks/sign-event.ts';
import { Random } from '../engine/random.ts';
import type { World } from '../engine/world.ts';
import type { Life } from '../process/life.ts';
import type { PlannedEvents } from './planned.ts';

export const EVENTS_SECRET = 'whsec_c2ltdWxhdGVkLXNpbXVsYXRlZC1zaW11bGF0ZWQtMzI=';
export const ENDPOINT = 'shop';
const FAILURES = ['HTTP_500', 'HTTP_302', 'REFUSED', 'NEVER', 'LOST'] as const;

/** The configuration of the workers of a world with endpoints. */
export function simulatedEndpoints(apps: readonly string[]): EventEndpoints {
  const key = readSigningKey(EVENTS_SECRET);
  if ('problem' in key) throw new Error(key.problem);
  const endpoint = {
    ...{ name: ENDPOINT, url: 'https://receiver.invalid/events', keys: [key] },
    allowPrivateAddress: false,
  };
  return new Map(apps.map((app) => [app, [endpoint]]));
}

interface Accepted {
  id: string;
  body: string;
}

/** All endpoints of a world. */
export class SimulatedEndpoint {
  /** In the order in which they were accepted. */
  readonly accepted: Accepted[] = [];
  isFaulty = true;
  private readonly world: World;
  private readonly plan: PlannedEvents;
  private readonly random: Random;
  private readonly goneMs: number;

  constructor(world: World, plan: PlannedEvents) {
    this.world = world;
    this.plan = plan;
    this.random = new Random(plan.seed);
    this.goneMs = world.now + (plan.goneAtMs ?? Number.POSITIVE_INFINITY);
  }

  transportOf(life: Life): EventTransport {
    return { post: (request) => this.post(life, request) };
  }

  private async post(life: Life, request: EventRequest): Promise<EventResponse> {
    const { world, random, plan } = this;
    const fails = this.isFaulty && random.chance(plan.failing) ? random.pick(FAILURES) : undefined;
    try {
      await sleep(life, random.between(1, 200), request.signal);
      if (life.process.cutOffFromProvider || fails === 'NEVER') await sleep(life, 3_600_000, request.signal);
      if (fails !== undefined) world.occurred.add(`endpoint: ${fails}`);
      if (fails === 'REFUSED') return { code: 'ECONNREFUSED' };
      if (fails?.startsWith('HTTP_')) return { status: Number(fails.slice(5)) };
      if (world.now >= this.goneMs) return { status: 410 };
      this.accept(request);
      // The answer is lost on its way.
      if (fails === 'LOST') await sleep(life, 3_600_000, request.signal);
      await sleep(life, random.between(1, 200), request.signal);
      return { status: 204 };
    } catch {
      return { code: 'TIMEOUT' };
    }
  }

  private accept({ headers, body }: EventRequest): void {
    const {
      'webhook-id': id = '',
      'webhook-timestamp': timestamp = '',
      'webhook-signature': signature,
    } = headers;
    const key = Buffer.from(EVENTS_SECRET.slice('whsec_'.length), 'base64');
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    if (signature !== `v1,${expected}`) this.world.violation(`event ${id} has a wrong signature`);
    this.accepted.push({ id, body });
  }
}
