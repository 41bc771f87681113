/** Programs that start a payout's workflow without the client library, with a request that no worker accepts. */
import type { Client } from '@temporalio/client';
import { PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import type { Random } from '../engine/random.ts';
import type { Run } from '../temporal/run.ts';
import type { Temporal } from '../temporal/temporal.ts';
import { partnerOrderIdOf, payoutId, payoutRequest } from './payout-world.ts';
import type { PlannedPayout, PlannedStranger } from './planned.ts';
import { type Feature, isCompleted, type Scene } from './scene.ts';

const STRANGER = 'stranger';
const PROBABILITY = 0.1;
const MAX_STRANGERS = 3;
const LOOK_INTERVAL_MS = 500;

/** Of no request at all, of a request with bad fields, and of a valid request for another payout. */
const REQUESTS: readonly ((number: number) => unknown)[] = [
  () => undefined,
  () => ({ nonsense: true }),
  (number) => ({
    ...payoutRequest(number),
    instructedAmount: { currency: 'CNY', amount: '-1' },
  }),
  (number) => payoutRequest(number + 1_000),
];

export function planStrangers(
  random: Random,
  faultPhaseMs: number,
  payouts: readonly PlannedPayout[],
): PlannedStranger[] {
  const strangers: PlannedStranger[] = [];
  while (random.chance(PROBABILITY) && strangers.length < MAX_STRANGERS) {
    const payout = random.pick(payouts);
    if (!payout) break;
    const afterTermination = random.chance(0.4);
    strangers.push({
      number: payout.number,
      atMs: random.chance(0.5) ? random.between(0, faultPhaseMs) : payout.atMs + random.between(-500, 2_000),
      afterTermination,
      replacesRunning: !afterTermination && random.chance(0.5),
      request: Math.floor(random.next() * REQUESTS.length),
    });
  }
  return strangers;
}

export function isOfStranger({ started }: Run): boolean {
  return started.identity === STRANGER;
}

/** Whether anyone but a stranger has started the payout. */
export function isStarted({ runs }: Pick<Temporal, 'runs'>, number: number): boolean {
  return runs.some((run) => run.workflowId === payoutId(number) && !isOfStranger(run));
}

export class Strangers implements Feature {
  private readonly scene: Scene;
  private readonly client: Client;

  constructor(scene: Scene) {
    this.scene = scene;
    const { service, converter } = scene.system;
    this.client = service.client({ dataConverter: converter, identity: STRANGER });
  }

  begin(): void {
    const { plan, system } = this.scene;
    for (const stranger of plan.strangers) system.world.spawn(this.start(stranger));
  }

  private async start(stranger: PlannedStranger): Promise<void> {
    const { world, server } = this.scene.system;
    const { number, atMs, afterTermination } = stranger;
    await world.sleep(Math.max(0, atMs));
    if (afterTermination)
      while (!isStopped(server.latest(payoutId(number)))) {
        if (this.scene.faultsEndedAtMs !== undefined) return;
        await world.sleep(world.random.between(0, LOOK_INTERVAL_MS));
      }
    const payout = this.scene.plan.payouts.find((one) => one.number === number);
    const before = server.latest(payoutId(number));
    // Temporal would refuse the start after the end, so it is no action of the story.
    if (!payout || (before && isCompleted(before))) return;
    const about = partnerOrderIdOf(number);
    this.scene.recordAction('payout', about, 'start with bad input');
    await this.scene.ignoreExpectedErrors(about, () => this.send(stranger));
  }

  private async send({ number, replacesRunning, request }: PlannedStranger): Promise<void> {
    try {
      await this.client.workflow.start('payout', {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowId: payoutId(number),
        // After the end of a payout, it would hide the result. An outage may delay the start past the end.
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
        ...(replacesRunning && { workflowIdConflictPolicy: 'TERMINATE_EXISTING' as const }),
        args: [REQUESTS[request]?.(number)],
      });
    } catch (error) {
      if (!(error instanceof Error && error.name === 'WorkflowExecutionAlreadyStartedError')) throw error;
    }
  }
}

function isStopped(run: Run | undefined): boolean {
  return run !== undefined && !run.isRunning && !isCompleted(run);
}
