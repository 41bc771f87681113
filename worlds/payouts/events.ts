import { z } from 'zod';
import { anyEventSchema, type RecordedEvent } from '../../src/contract/events.ts';
import { eventDeliveryWorkflowId, payoutFollowUpWorkflowId } from '../../src/contract/ids.ts';
import { endpointStateQuery, eventsQuery } from '../../src/contract/workflows.ts';
import type { Random } from '../engine/random.ts';
import { ENDPOINT, type SimulatedEndpoint } from './endpoint.ts';
import { appOf, payoutId, refOf } from './payout-world.ts';
import type { PlannedEvents } from './planned.ts';
import type { Feature, Scene } from './scene.ts';
import { TOKENS } from './secrets.ts';

const EVENTS_PROBABILITY = 0.6;
/** Longer than every pause that follows the faults of a world. */
const DRAIN_LIMIT_MS = 3 * 3_600_000;

export function planEvents(random: Random, faultPhaseMs: number): PlannedEvents | undefined {
  if (!random.chance(EVENTS_PROBABILITY)) return undefined;
  return {
    seed: Math.floor(random.next() * 2 ** 32),
    failing: random.pick([0, 0.2, 0.5, 1]) ?? 0,
    goneAtMs: random.chance(0.05) ? random.between(0, faultPhaseMs) : undefined,
  };
}

export class Events implements Feature {
  private readonly scene: Scene;

  constructor(scene: Scene) {
    this.scene = scene;
  }

  async check(): Promise<void> {
    const { plan, system } = this.scene;
    const { endpoint, world } = system;
    if (!endpoint) return;
    endpoint.isFaulty = false;
    const disabled = new Set<string>();
    for (const app of new Set(plan.payouts.map(({ number }) => appOf(number))))
      if (await this.finishDeliveries(app)) disabled.add(app);
    const personal = plan.payouts.flatMap(({ request: { receiver } }) => [
      ...[receiver.bankAccountName, receiver.bankAccountNumber, receiver.idCardNumber],
    ]);
    for (const { id, body } of endpoint.accepted) {
      if ([...personal, TOKENS].some((secret) => body.includes(secret)))
        world.violation(`event ${id} has a secret or personal data`);
      const { success, error } = anyEventSchema.safeParse(JSON.parse(body));
      if (!success) world.violation(`event ${id} does not match its schema: ${z.prettifyError(error)}`);
    }
    for (const { number } of plan.payouts)
      await this.checkPayout(number, endpoint, disabled.has(appOf(number)));
  }

  /** Runs the world until `drained` settles, which has a limit of its own. */
  private finishDeliveries(app: string): Promise<boolean> {
    return this.scene.system.world.finish(this.drained(app), 2 * DRAIN_LIMIT_MS);
  }

  /** Waits until nothing waits for the endpoint. Returns whether it is disabled. */
  private async drained(app: string): Promise<boolean> {
    const { world, client } = this.scene.system;
    const delivery = client.workflow.getHandle(eventDeliveryWorkflowId('test', app, ENDPOINT));
    const untilMs = world.now + DRAIN_LIMIT_MS;
    for (;;) {
      const state = await this.scene.ignoreExpectedErrors(`the endpoint of ${app}`, () =>
        delivery.query(endpointStateQuery),
      );
      if (state && !state.isEnabled) world.occurred.add('endpoint: disabled');
      if (state && (state.waiting === 0 || !state.isEnabled)) return !state.isEnabled;
      if (world.now > untilMs) {
        world.violation(`events still wait for the endpoint of ${app}: ${JSON.stringify(state)}`);
        return false;
      }
      await world.sleep(10_000);
    }
  }

  private async checkPayout(number: number, endpoint: SimulatedEndpoint, isDisabled: boolean): Promise<void> {
    const { scene } = this;
    const { world, server } = scene.system;
    const workflowId = payoutId(number);
    const result = scene.results.get(number);
    // A restore loses events, and queues.
    if (!result || scene.restoredAtMs !== undefined || !server.latest(workflowId)) return;
    const { app, partnerOrderId } = refOf(number);
    // A person resets a payout that has ended while the world is checked: its new run publishes its own events.
    const hasEnded = () => !server.latest(workflowId)?.isRunning;
    if (!hasEnded()) await world.run({ done: hasEnded, withinMs: DRAIN_LIMIT_MS });
    if (scene.reopened.has(number)) await this.finishDeliveries(app);
    const events = await this.eventsOf(workflowId);
    const followUp = payoutFollowUpWorkflowId(app, partnerOrderId);
    const later = server.latest(followUp) ? await this.eventsOf(followUp) : [];
    const completed = events.filter(({ type }) => type === 'payout.completed');
    const outcome = completed.map(({ data }) => ('outcome' in data ? data.outcome : undefined));
    // A person may have reopened it after its result was read.
    if (!outcome.includes(result.outcome) && !scene.reopened.has(number))
      world.violation(
        `${partnerOrderId} ended as ${result.outcome} and published ${outcome.join() || 'no end'}`,
      );
    if (isDisabled) return;
    const places = [...events, ...later].map(({ id }) => endpoint.accepted.findIndex((one) => one.id === id));
    for (const [at, place] of places.entries()) {
      const { id, type, isQueued } = [...events, ...later][at] ?? {};
      if (place < 0)
        world.violation(`${partnerOrderId}: ${type} ${id} was not delivered (queued: ${isQueued})`);
    }
    const inOrder = places.filter((place) => place >= 0);
    if (inOrder.some((place, at) => place < (inOrder[at - 1] ?? 0)))
      world.violation(`${partnerOrderId}: its events were delivered in another order`);
    world.occurred.add('events delivered');
  }

  private async eventsOf(workflowId: string): Promise<RecordedEvent[]> {
    const { world, client } = this.scene.system;
    const handle = client.workflow.getHandle(workflowId);
    for (;;) {
      const events = await world.finish(
        this.scene.ignoreExpectedErrors(workflowId, () => handle.query(eventsQuery)),
      );
      if (events) return events;
      await world.finish(world.sleep(1_000));
    }
  }
}
