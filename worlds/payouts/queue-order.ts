/** Checks the order in which an application's calls leave their task queue: urgent calls first, and clients in turn. */
import { fairnessKey } from '../../src/contract/ids.ts';
import type { PendingActivity } from '../temporal/pending-activity.ts';
import { fairnessKeyOf, levelOf, Turns } from '../temporal/temporal.ts';
import { payoutId } from './payout-world.ts';
import type { Feature, Scene } from './scene.ts';

/** As urgent as a create: it is unknown whether money moved. */
const MOST_URGENT: ReadonlySet<string> = new Set(['createPayout', 'confirmOrder', 'fetchOrder']);
/** The first calls of a payout, in which clients take turns. */
const BEGINNINGS: ReadonlySet<string> = new Set(['beginPayout', 'quoteForClient']);
const FOLLOW_UP = 'payoutFollowUp';

export class QueueOrder implements Feature {
  private readonly scene: Scene;
  private readonly clients: ReadonlyMap<string, string>;
  /** As the server gives turns, but by the client of each beginning. */
  private readonly turns: Turns;
  private readonly turnOf = new WeakMap<PendingActivity, number>();

  constructor(scene: Scene) {
    this.scene = scene;
    this.clients = new Map(
      scene.plan.payouts.map(({ number, request }) => [payoutId(number), request.clientId]),
    );
    this.turns = new Turns((activity) => this.keyOf(activity));
  }

  begin(): void {
    const { server } = this.scene.system;
    server.onOffer.push((activity) => this.turnOf.set(activity, this.turns.next(activity)));
    server.onDispatch.push((activity, waiting) => this.dispatched(activity, waiting));
  }

  private dispatched(activity: PendingActivity, waiting: readonly PendingActivity[]): void {
    const turn = this.turnOf.get(activity) ?? 0;
    this.turns.dispatched(activity, turn);
    this.checkPriority(
      activity,
      waiting.filter(({ attributes }) => attributes.taskQueue === activity.attributes.taskQueue),
    );
    if (isBeginning(activity))
      this.checkTurns(
        activity,
        turn,
        waiting.filter((other) => isBeginning(other) && levelOf(other) === levelOf(activity)),
      );
  }

  private checkPriority(activity: PendingActivity, others: readonly PendingActivity[]): void {
    const { world } = this.scene.system;
    const type = typeOf(activity);
    const create = others.find((other) => typeOf(other) === 'createPayout');
    if (create && !MOST_URGENT.has(type))
      world.violation(
        `${type} of ${activity.run.workflowId} goes before the create of ${create.run.workflowId}`,
      );
    const ofPayout = others.find(({ run }) => this.clients.has(run.workflowId));
    if (ofPayout && activity.run.started.workflowType?.name === FOLLOW_UP)
      world.violation(`a follow-up goes before ${typeOf(ofPayout)} of ${ofPayout.run.workflowId}`);
    if (create || ofPayout) world.occurred.add('a call went before another one');
  }

  private checkTurns(activity: PendingActivity, turn: number, others: readonly PendingActivity[]): void {
    const { world } = this.scene.system;
    const client = this.clientOf(activity);
    for (const other of others) {
      if (this.clientOf(other) === client) continue;
      world.occurred.add('clients took turns');
      if (turn > (this.turnOf.get(other) ?? turn))
        world.violation(
          `${activity.run.workflowId} of ${client} takes the turn of ${other.run.workflowId} of ${this.clientOf(other)}`,
        );
    }
  }

  private keyOf(activity: PendingActivity): string {
    const client = isBeginning(activity) ? this.clientOf(activity) : undefined;
    return client === undefined ? fairnessKeyOf(activity) : fairnessKey(client);
  }

  private clientOf({ run }: PendingActivity): string | undefined {
    return this.clients.get(run.workflowId);
  }
}

function typeOf({ attributes }: PendingActivity): string {
  return attributes.activityType ?? '';
}

function isBeginning(activity: PendingActivity): boolean {
  return BEGINNINGS.has(typeOf(activity));
}
