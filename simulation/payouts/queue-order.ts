/** Checks the order in which an application's calls leave their task queue: urgent calls first, and clients in turn. */
import type { PendingActivity } from '../temporal/pending-activity.ts';
import { payoutId } from './payout-world.ts';
import type { Feature, Scene } from './scene.ts';

/** As urgent as a create: it is unknown whether money moved. */
const MOST_URGENT: ReadonlySet<string> = new Set(['createPayout', 'confirmOrder', 'fetchOrder']);
/** The first call of a payout, in which clients take turns. */
const BEGINNING = 'quoteForClient';
const FOLLOW_UP = 'payoutFollowUp';

interface Wait {
  /** How many beginnings of its client waited when it was offered, including itself. */
  position: number;
  /** By client: how many beginnings have gone ahead. */
  ahead: Map<string, number>;
}

export class QueueOrder implements Feature {
  private readonly scene: Scene;
  private readonly clients: ReadonlyMap<string, string>;
  private waits = new Map<PendingActivity, Wait>();

  constructor(scene: Scene) {
    this.scene = scene;
    this.clients = new Map(
      scene.plan.payouts.map(({ number, request }) => [payoutId(number), request.clientId]),
    );
    scene.system.server.onDispatch.push((activity, waiting) => this.dispatched(activity, waiting));
  }

  restored(): void {
    this.waits.clear();
  }

  private dispatched(activity: PendingActivity, waiting: readonly PendingActivity[]): void {
    const others = waiting.filter(({ attributes }) => attributes.taskQueue === activity.attributes.taskQueue);
    if (others.length === 0) return;
    this.checkPriority(activity, others);
    this.checkTurns(activity, others.filter(isBeginning));
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

  /** Another client has at most one turn for each turn that this client's earlier beginnings and this one need. */
  private checkTurns(activity: PendingActivity, beginnings: readonly PendingActivity[]): void {
    this.waits.delete(activity);
    const { world } = this.scene.system;
    const client = this.clientOf(activity);
    for (const other of beginnings) {
      const wait = this.waitOf(other, beginnings);
      if (!isBeginning(activity) || client === undefined || client === this.clientOf(other)) continue;
      const ahead = (wait.ahead.get(client) ?? 0) + 1;
      wait.ahead.set(client, ahead);
      world.occurred.add('clients took turns');
      if (ahead > wait.position + 1)
        world.violation(`${ahead} payouts of ${client} begin before that of ${other.run.workflowId}`);
    }
  }

  private waitOf(activity: PendingActivity, beginnings: readonly PendingActivity[]): Wait {
    const known = this.waits.get(activity);
    if (known) return known;
    const client = this.clientOf(activity);
    const position = beginnings.filter((other) => this.clientOf(other) === client).length;
    const wait = { position, ahead: new Map<string, number>() };
    this.waits.set(activity, wait);
    return wait;
  }

  private clientOf({ run }: PendingActivity): string | undefined {
    return this.clients.get(run.workflowId);
  }
}

function typeOf({ attributes }: PendingActivity): string {
  return attributes.activityType ?? '';
}

function isBeginning(activity: PendingActivity): boolean {
  return typeOf(activity) === BEGINNING;
}
