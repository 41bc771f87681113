/** Receiving accounts that a world opens: who asks for them, who decides, and what must hold of each. */

import { ReceivingAccountConflictError, ReceivingAccounts } from '../../src/client/receiving-accounts.ts';
import { receivingAccountWorkflowId } from '../../src/contract/ids.ts';
import { receivingAccountResultSchema } from '../../src/contract/receiving-account.ts';
import type { OpeningResolution } from '../../src/contract/receiving-account-messages.ts';
import type { Random } from '../world/random.ts';
import type { Feature, Scene } from './scene.ts';

export interface OpeningMeddling {
  kind: 'start-again' | 'start-otherwise' | 'cancel' | 'reset';
  atMs: number;
  /** How far back a reset goes. */
  part: number;
}

export interface PlannedOpening {
  requestId: string;
  /** Nobody else opens accounts for it: the provider does not say which request an account is of. */
  payerId: string;
  currency: string;
  openId: string | undefined;
  atMs: number;
  meddling: OpeningMeddling[];
}

const PERSON = 'operator';
const MEDDLED_WITHIN_MS = [1_000, 5_000, 60_000] as const;
const CURRENCIES = ['USD', 'EUR', 'HKD'] as const;

export function openingsIn(random: Random, troubleMs: number): PlannedOpening[] {
  const count = random.chance(0.15) ? (random.pick([1, 1, 2, 4]) ?? 1) : 0;
  return Array.from({ length: count }, (_, at) => {
    const atMs = random.between(0, 0.7 * troubleMs);
    const within = random.pick(MEDDLED_WITHIN_MS) ?? 0;
    const kinds = (['start-again', 'start-otherwise', 'cancel', 'reset'] as const).filter(() =>
      random.chance(0.25),
    );
    return {
      ...{ requestId: `ra-${at + 1}`, payerId: `opener-${at + 1}`, openId: undefined, atMs },
      currency: random.pick(CURRENCIES) ?? 'USD',
      meddling: kinds.map((kind) => ({
        ...{ kind, part: random.next() },
        atMs: atMs + random.between(0, within),
      })),
    };
  });
}

export class Openings implements Feature {
  private readonly scene: Scene;
  private readonly starter: ReceivingAccounts;
  private readonly begun = new Set<string>();

  constructor(scene: Scene) {
    this.scene = scene;
    this.starter = new ReceivingAccounts({ client: scene.there.client, environment: 'test' });
  }

  begin(): void {
    const { world } = this.scene.there;
    for (const opening of this.openings) {
      world.spawn(this.ask(opening));
      for (const meddling of opening.meddling) world.spawn(this.meddle(opening, meddling));
    }
  }

  unfinished(): string[] {
    return this.openings
      .filter((opening) => !this.scene.hasCompleted(idOf(opening)))
      .map(({ requestId }) => `the receiving account ${requestId}`);
  }

  look(): void {
    for (const opening of this.openings)
      if (this.begun.has(opening.requestId) && !this.scene.hasCompleted(idOf(opening)))
        this.scene.there.world.spawn(this.lookAfter(opening));
  }

  /** Whoever asked has no account, and asks again for one that nobody knows any more. */
  restored(): void {
    const { world, server } = this.scene.there;
    for (const opening of this.openings)
      if (this.begun.has(opening.requestId) && !server.latest(idOf(opening)))
        world.spawn(this.ask({ ...opening, atMs: 0 }));
  }

  async judge(): Promise<void> {
    const { world } = this.scene.there;
    for (const opening of this.openings) {
      if (!this.scene.hasCompleted(idOf(opening))) continue;
      const result: unknown = await world.finish(this.starter.result(opening));
      for (const wrong of this.wrongIn(opening, result))
        world.violation(`${opening.requestId} ${wrong}: ${JSON.stringify(result)}`);
    }
  }

  private get openings(): readonly PlannedOpening[] {
    return this.scene.plan.openings;
  }

  // ---- people

  private async ask(opening: PlannedOpening): Promise<void> {
    const { requestId, atMs } = opening;
    await this.scene.there.world.sleep(atMs);
    this.begun.add(requestId);
    await this.scene.insist(requestId, () => this.starter.open(bodyOf(opening)));
  }

  private async meddle(opening: PlannedOpening, { kind, atMs, part }: OpeningMeddling): Promise<void> {
    const { world, server } = this.scene.there;
    await world.sleep(atMs);
    const { requestId } = opening;
    const run = server.latest(idOf(opening));
    if (!run) return;
    this.scene.act('opening', requestId, kind);
    if (kind === 'start-again') await this.scene.insist(requestId, () => this.starter.open(bodyOf(opening)));
    else if (kind === 'start-otherwise')
      await this.scene.mustConflict(requestId, ReceivingAccountConflictError, () =>
        this.starter.open({ ...bodyOf(opening), purposeCode: 'other' }),
      );
    else if (run.isRunning && kind === 'cancel')
      await this.scene.tolerant(requestId, () => this.starter.handle(opening).cancel());
    else if (run.isRunning) this.scene.reset(run, part);
  }

  /** Decides by the provider's own list what needs a decision. */
  private async lookAfter(opening: PlannedOpening): Promise<void> {
    const { requestId } = opening;
    const state = await this.scene.tolerant(requestId, () => this.starter.state(opening));
    if (state?.phase !== 'NEEDS_REVIEW') return;
    if (!state.needsAttention) this.scene.there.world.violation(`${requestId} is in review, and not flagged`);
    const [account] = this.accountsOf(opening);
    const by = PERSON;
    const decision: OpeningResolution = account
      ? { by, created: true, accountId: account.accountId }
      : { by, created: false, then: this.scene.plan.withoutOrder };
    const { withoutOrder } = this.scene.plan;
    this.scene.act('opening', requestId, account ? 'it was opened' : `not opened, ${withoutOrder}`);
    await this.scene.tolerant(requestId, () => this.starter.resolve(opening, decision));
  }

  // ---- the oracle

  private wrongIn(opening: PlannedOpening, ended: unknown): string[] {
    const parsed = receivingAccountResultSchema.safeParse(ended);
    if (!parsed.success) return ['has no outcome'];
    const { outcome, accountId, account, payerId, currency } = parsed.data;
    const known = this.accountsOf(opening);
    const isTheirs = known.some((one) => one.accountId === accountId && one.currency === currency);
    return [
      known.length > 1 && `was opened ${known.length} times`,
      outcome === 'NOT_OPENED' && known.length > 0 && 'is told as not opened, and there is one',
      outcome === 'OPENED' && !isTheirs && "is not the provider's account",
      outcome === 'OPENED' && account?.['id'] !== accountId && "is told with another account's record",
      (payerId !== opening.payerId || currency !== opening.currency) && 'is told for somebody else',
    ].filter((wrong) => typeof wrong === 'string');
  }

  private accountsOf({ payerId }: PlannedOpening) {
    const { receivingAccounts } = this.scene.there.provider.control.ledger();
    return receivingAccounts.filter((account) => account.payerId === payerId);
  }
}

function bodyOf({ requestId, payerId, currency, openId }: PlannedOpening) {
  return { requestId, payerId, currency, ...(openId !== undefined && { openId }) };
}

function idOf({ requestId }: PlannedOpening): string {
  return receivingAccountWorkflowId('default', requestId);
}
