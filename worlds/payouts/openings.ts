/** Receiving accounts in a world: their callers, the interventions, and the checks of each account. */

import { ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import { receivingAccountWorkflowId } from '../../src/contract/ids.ts';
import { receivingAccountResultSchema } from '../../src/contract/receiving-account.ts';
import type { ReceivingAccountResolution } from '../../src/contract/workflows.ts';
import type { Random } from '../engine/random.ts';
import type { OpeningIntervention, PlannedOpening } from './planned.ts';
import type { Feature, Scene } from './scene.ts';

const OPERATOR = 'operator';
const INTERVENTION_WINDOWS_MS = [1_000, 5_000, 60_000] as const;
const CURRENCIES = ['USD', 'EUR', 'HKD'] as const;

export function planOpenings(random: Random, faultPhaseMs: number): PlannedOpening[] {
  const count = random.chance(0.15) ? (random.pick([1, 1, 2, 4]) ?? 1) : 0;
  return Array.from({ length: count }, (_, at) => {
    const atMs = random.between(0, 0.7 * faultPhaseMs);
    const within = random.pick(INTERVENTION_WINDOWS_MS) ?? 0;
    const kinds = (['start-again', 'start-different-body', 'cancel', 'reset'] as const).filter(() =>
      random.chance(0.25),
    );
    return {
      ...{ requestId: `ra-${at + 1}`, payerId: `opener-${at + 1}`, openId: undefined, atMs },
      currency: random.pick(CURRENCIES) ?? 'USD',
      interventions: kinds.map((kind) => ({
        ...{ kind, part: random.next() },
        atMs: atMs + random.between(0, within),
      })),
    };
  });
}

export class Openings implements Feature {
  private readonly scene: Scene;
  private readonly starter: ReceivingAccounts;
  private readonly started = new Set<string>();

  constructor(scene: Scene) {
    this.scene = scene;
    this.starter = new ReceivingAccounts({
      client: scene.system.client,
      environment: 'test',
      clock: scene.system.world,
    });
  }

  begin(): void {
    const { world } = this.scene.system;
    for (const opening of this.openings) {
      world.spawn(this.request(opening));
      for (const intervention of opening.interventions) world.spawn(this.intervene(opening, intervention));
    }
  }

  unfinished(): string[] {
    return this.openings
      .filter((opening) => !this.scene.hasCompleted(idOf(opening)))
      .map(({ requestId }) => `receiving account ${requestId}`);
  }

  inspect(): void {
    for (const opening of this.openings)
      if (this.started.has(opening.requestId) && !this.scene.hasCompleted(idOf(opening)))
        this.scene.system.world.spawn(this.reviewOpening(opening));
  }

  /** A caller without an account repeats a request that the restored Temporal does not have. */
  restored(): void {
    const { world, server } = this.scene.system;
    for (const opening of this.openings)
      if (this.started.has(opening.requestId) && !server.latest(idOf(opening)))
        world.spawn(this.request({ ...opening, atMs: 0 }));
  }

  async check(): Promise<void> {
    const { world } = this.scene.system;
    for (const opening of this.openings) {
      if (!this.scene.hasCompleted(idOf(opening))) continue;
      const result: unknown = await world.finish(this.starter.result(opening));
      for (const problem of this.problemsIn(opening, result))
        world.violation(`${opening.requestId} ${problem}: ${JSON.stringify(result)}`);
    }
  }

  private get openings(): readonly PlannedOpening[] {
    return this.scene.plan.openings;
  }

  // ---- people

  private async request(opening: PlannedOpening): Promise<void> {
    const { requestId, atMs } = opening;
    await this.scene.system.world.sleep(atMs);
    this.started.add(requestId);
    await this.scene.retryWhileUnavailable(requestId, () => this.starter.open(bodyOf(opening)));
  }

  private async intervene(opening: PlannedOpening, { kind, atMs, part }: OpeningIntervention): Promise<void> {
    const { world, server } = this.scene.system;
    await world.sleep(atMs);
    const { requestId } = opening;
    const run = server.latest(idOf(opening));
    if (!run) return;
    this.scene.recordAction('opening', requestId, kind);
    if (kind === 'start-again')
      await this.scene.retryWhileUnavailable(requestId, () => this.starter.open(bodyOf(opening)));
    else if (kind === 'start-different-body')
      await this.scene.expectConflict(requestId, () =>
        this.starter.open({ ...bodyOf(opening), purposeCode: 'other' }),
      );
    else if (run.isRunning && kind === 'cancel')
      await this.scene.ignoreExpectedErrors(requestId, () => this.starter.handle(opening).cancel());
    else if (run.isRunning) this.scene.reset(run, part);
  }

  /** Resolves a review from the provider's own list. */
  private async reviewOpening(opening: PlannedOpening): Promise<void> {
    const { requestId } = opening;
    const state = await this.scene.ignoreExpectedErrors(requestId, () => this.starter.state(opening));
    if (state?.phase !== 'NEEDS_REVIEW') return;
    if (!state.needsAttention) this.scene.system.world.violation(`${requestId} is in review without a flag`);
    const [account] = this.accountsOf(opening);
    const by = OPERATOR;
    const decision: ReceivingAccountResolution = account
      ? { by, created: true, accountId: account.accountId }
      : {
          by,
          created: false,
          then: this.scene.plan.resolutionWithoutOrder,
          sends: state.sends,
          candidates: state.candidates,
        };
    const { resolutionWithoutOrder } = this.scene.plan;
    this.scene.recordAction(
      'opening',
      requestId,
      account ? 'resolve: opened' : `resolve: not opened, ${resolutionWithoutOrder}`,
    );
    const after = await this.scene.ignoreExpectedErrors(requestId, () =>
      this.starter.resolve(opening, decision),
    );
    const { world, runsOnlyNewest } = this.scene.system;
    if (after?.phase === 'NEEDS_REVIEW' && runsOnlyNewest)
      world.violation(`${requestId} returns NEEDS_REVIEW after an accepted resolve`);
  }

  // ---- the oracle

  private problemsIn(opening: PlannedOpening, ended: unknown): string[] {
    const parsed = receivingAccountResultSchema.safeParse(ended);
    if (!parsed.success) return ['has no outcome'];
    const { outcome, accountId, account, payerId, currency } = parsed.data;
    const accounts = this.accountsOf(opening);
    const isKnown = accounts.some((one) => one.accountId === accountId && one.currency === currency);
    return [
      accounts.length > 1 && `was opened ${accounts.length} times`,
      outcome === 'NOT_OPENED' &&
        accounts.length > 0 &&
        'is reported as not opened, although an account exists',
      outcome === 'OPENED' && !isKnown && 'names an account that the provider does not have',
      outcome === 'OPENED' && account?.['id'] !== accountId && 'has the record of another account',
      (payerId !== opening.payerId || currency !== opening.currency) &&
        'is reported for another payer or currency',
    ].filter((problem) => typeof problem === 'string');
  }

  private accountsOf({ payerId }: PlannedOpening) {
    const { receivingAccounts } = this.scene.system.provider.control.ledger();
    return receivingAccounts.filter((account) => account.payerId === payerId);
  }
}

function bodyOf({ requestId, payerId, currency, openId }: PlannedOpening) {
  return { requestId, payerId, currency, ...(openId !== undefined && { openId }) };
}

function idOf({ requestId }: PlannedOpening): string {
  return receivingAccountWorkflowId('default', requestId);
}
