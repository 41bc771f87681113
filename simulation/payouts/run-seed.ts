/** One seed: its world, from the first start until every payout has ended, and what must hold all the same. */
import type { DataConverter } from '@temporalio/common';
import { discrepancies } from '../../chaos/discrepancies.ts';
import type { CreateRecord, LedgerOf } from '../../simulator/index.ts';
import { PayoutConflictError } from '../../src/client/payouts.ts';
import { payoutFollowUpWorkflowId, payoutWorkflowId } from '../../src/contract/ids.ts';
import { payoutResultSchema } from '../../src/contract/payout-answers.ts';
import type { Resolution } from '../../src/contract/payout-messages.ts';
import { faultsIn, hazardsIn } from '../coverage/hazards.ts';
import type { Process } from '../process/life.ts';
import type { Trip } from '../provider/transport.ts';
import type { Workflows } from '../sdk.ts';
import { EventType } from '../temporal/history.ts';
import type { PendingActivity } from '../temporal/pending-activity.ts';
import type { Run } from '../temporal/run.ts';
import { snapshotOf } from '../temporal/snapshot.ts';
import type { World } from '../world/world.ts';
import { Batches, isOfBatch } from './batches.ts';
import { Calm } from './calm.ts';
import { Decisions } from './decisions.ts';
import { KeyRotation } from './key-rotation.ts';
import { Openings } from './openings.ts';
import { Orders } from './orders.ts';
import { PayoutWorld, partnerOrderIdOf, payoutId, reader, swift } from './payout-world.ts';
import { type Meddling, type Plan, type PlannedPayout, planOf, type Strike, tripOf } from './plan.ts';
import { RunEnds } from './run-ends.ts';
import { type Feature, isCompleted, Scene } from './scene.ts';
import { Secrets } from './secrets.ts';
import { Standstill } from './standstill.ts';
import { storyOf } from './story.ts';
import { Users } from './users.ts';

export interface SeedReport {
  seed: number;
  violations: readonly string[];
  digest: string;
  payouts: number;
  outcomes: Readonly<Record<string, number>>;
  runs: readonly Run[];
  /** Reads their payloads, and those of every other world. */
  converter: DataConverter;
  activations: number;
  replays: number;
  strikes: number;
  faultsMet: number;
  calls: number;
  events: number;
  virtualMs: number;
  /** With `coverage`: faults that there were, by name, and the hazards that they amount to. */
  faults: readonly string[];
  hazards: readonly string[];
  /** What happened, in order. */
  story: readonly string[];
}

/** After the trouble. Longer than any wait of the default settings but an approval's. */
const ENDS_WITHIN_MS = 3 * 3_600_000;
/** After the last end: reconciliation runs at least so often, and lists lag. */
const FOLLOWED_WITHIN_MS = 20 * 60_000;
const LOOKS_EVERY_MS = 20_000;
/** A person looks into what a list shows, and now and then into any other. */
const LOOKS_ANYWAY = 0.3;
/** Those under way, in each process that gets the lease. */
const MOST_DEAD_TOKENS = 100;
/** Renewals rest after tokens that were rejected in a row, as they are where answers lie. */
const TOKENS_REST_MS = 120_000;
const LIMIT = 20;
const PERSON = 'operator';

const FEATURES: readonly (new (scene: Scene) => Feature)[] = [
  ...[Batches, Openings, Users, KeyRotation, Standstill],
  ...[Orders, Decisions, RunEnds, Secrets, Calm],
];

export interface RunOptions {
  /** The world ends at its first violation, and nothing that is still open is judged. */
  untilViolation?: boolean;
  /** The story is told where all is well, too. */
  trace?: boolean;
  /** Tells which faults and hazards there were. */
  coverage?: boolean;
}

export function runSeed(workflows: Workflows, seed: number, options?: RunOptions): Promise<SeedReport> {
  return runPlan(workflows, planOf(seed), options);
}

export async function runPlan(workflows: Workflows, plan: Plan, options?: RunOptions): Promise<SeedReport> {
  const seeded = new SeededWorld(workflows, plan, options);
  const giveBack = seeded.takeConsole();
  try {
    return await seeded.run();
  } finally {
    giveBack();
  }
}

class SeededWorld {
  private readonly plan: Plan;
  private readonly there: PayoutWorld;
  private readonly scene: Scene;
  private readonly features: readonly Feature[];
  private readonly started = new Set<number>();
  /** Those that a person has approved, or has named an order for. */
  private readonly approved = new Set<number>();
  private readonly named = new Set<number>();
  private strikes = 0;
  private readonly options: RunOptions;

  constructor(workflows: Workflows, plan: Plan, options: RunOptions = {}) {
    this.plan = plan;
    this.options = options;
    const { seed, workers, env, settings, process: faults } = plan;
    this.there = new PayoutWorld({
      ...{ workflows, seed, workers, env, settings, faults },
      trip: (world) => (this.scene.calmSinceMs === undefined ? troubled(plan, world) : swift(world)),
    });
    this.scene = new Scene(plan, this.there);
    this.features = FEATURES.map((Kind) => new Kind(this.scene));
    this.there.server.onChange.push((run) => {
      if (isCompleted(run)) this.scene.open.delete(run.workflowId);
    });
  }

  /** What the product's processes write to their consoles is searched like their logs, and not shown. */
  takeConsole(): () => void {
    const { log, warn, error } = console;
    const say = (...parts: readonly unknown[]) =>
      void this.there.world.logs.push(parts.map(String).join(' '));
    Object.assign(console, { log: say, warn: say, error: say });
    return () => Object.assign(console, { log, warn, error });
  }

  async run(): Promise<SeedReport> {
    const { plan, there } = this;
    const { world, provider } = there;
    const begun = world.now;
    for (const rule of plan.faults) provider.control.addFault(rule);
    for (const strike of plan.strikes) this.planStrike(strike);
    if (plan.restored) this.planRestore(plan.restored);
    if (plan.outage) this.planOutage(plan.outage);
    there.service.losses = plan.losses;
    there.service.visibility.lagMs = plan.listsLagMs;
    if (plan.tokensEndAtMs !== undefined) world.at(plan.tokensEndAtMs, () => this.endTokens());
    for (const payout of plan.payouts) world.spawn(this.pay(payout));
    for (const feature of this.features) feature.begin?.();
    world.spawn(this.operate());
    const isOver = () => (this.scene.open.size === 0 && this.unfinished.length === 0) || this.isDecided;
    await world.run({ done: isOver, withinMs: plan.troubleMs });
    this.scene.calmSinceMs = world.now;
    there.service.losses = undefined;
    const faults = provider.control.faults();
    provider.control.removeFaults();
    const how = await world.run({ done: isOver, withinMs: ENDS_WITHIN_MS });
    if (how !== 'done') this.judgeEnds();
    if (!this.isDecided) await this.judgeAll();
    const { maxCallsInAnySecond, calls } = provider.control.counts();
    if (maxCallsInAnySecond > LIMIT) world.violation(`${maxCallsInAnySecond} calls in a second`);
    const { trace, coverage } = this.options;
    const faultsThere = coverage ? faultsIn(this.scene) : [];
    const hazards = coverage ? hazardsIn(this.scene) : [];
    await there.end();
    return {
      seed: plan.seed,
      violations: [...world.violations],
      digest: world.digest(),
      payouts: plan.payouts.length,
      outcomes: counted([...this.scene.results.values()].map(({ outcome }) => outcome)),
      runs: there.server.runs,
      converter: reader(there),
      ...{ ...world.counts, faults: faultsThere, hazards },
      strikes: this.strikes,
      faultsMet: faults.reduce((sum, { hit }) => sum + hit, 0),
      calls,
      events: world.events,
      virtualMs: world.now - begun,
      story: world.violations.length > 0 || trace ? storyOf(there, begun, this.scene.told) : [],
    };
  }

  private get isDecided(): boolean {
    return (this.options.untilViolation ?? false) && this.there.world.violations.length > 0;
  }

  // ---- what happens to the processes

  private planStrike({ atMs, process: at, kind, lastsMs }: Strike): void {
    const { world, processes } = this.there;
    const process = processes[at];
    if (!process) return;
    world.at(atMs, () => {
      this.strikes += 1;
      world.record(process.name, kind);
      this.meetStrike(kind);
      this.scene.tell(process.name, `${kind}, for ${Math.round(lastsMs)} ms`);
      world.at(lastsMs, strike(process, kind));
    });
  }

  /** With what was under way then, where it makes a difference. */
  private meetStrike(kind: Strike['kind']): void {
    const { world, server } = this.there;
    world.met.add(kind);
    const isCreate = ({ attributes }: PendingActivity) => attributes.activityType === 'createPayout';
    const isSending = server.runs.some((run) => server.pendingOf(run).some(isCreate));
    if (isSending) world.met.add(`${kind} while a create is under way`);
  }

  private planRestore({ toMs, atMs }: NonNullable<Plan['restored']>): void {
    const { world, server } = this.there;
    world.at(toMs, () => {
      const snapshot = snapshotOf(server);
      world.at(atMs - toMs, () => {
        this.scene.tell('Temporal', `is restored to ${((atMs - toMs) / 1_000).toFixed(3)} s ago`);
        world.met.add('restore');
        this.scene.restoredAtMs = world.now;
        this.there.restore(snapshot);
        this.afterRestore();
      });
    });
  }

  private planOutage({ atMs, lastsMs }: NonNullable<Plan['outage']>): void {
    const { world, service, processes } = this.there;
    const set = (isAway: boolean) => {
      service.isAway = isAway;
      for (const process of processes) process.cutOff = isAway;
    };
    world.at(atMs, () => {
      this.scene.tell('Temporal', `is away, for ${Math.round(lastsMs)} ms`);
      world.met.add('Temporal: it is away');
      set(true);
      world.at(lastsMs, () => set(false));
    });
  }

  private afterRestore(): void {
    const { world, server } = this.there;
    for (const payout of this.plan.payouts) {
      this.scene.open.set(payoutId(payout.number), payout);
      // The caller has no result of a payout that nobody knows any more, and starts it again.
      if (this.started.delete(payout.number)) world.spawn(this.pay({ ...payout, atMs: 0, batch: undefined }));
    }
    for (const run of server.runs) if (isCompleted(run)) this.scene.open.delete(run.workflowId);
    for (const feature of this.features) feature.restored?.();
  }

  private endTokens(): void {
    const { expired } = this.there.provider.control.expireTokens();
    this.scene.tell('provider', `takes ${expired} tokens back`);
    this.there.world.met.add('tokens taken back');
  }

  private get unfinished(): string[] {
    return this.features.flatMap((feature) => feature.unfinished?.() ?? []);
  }

  // ---- people

  private async pay(payout: PlannedPayout): Promise<void> {
    const { world } = this.there;
    await world.sleep(payout.atMs);
    if (!isOfBatch(this.plan, payout)) await this.start(payout);
    if (payout.approval) world.spawn(this.approve(payout, payout.approval));
    for (const one of payout.meddling) world.spawn(this.meddle(payout, one));
  }

  /** One whose answer was lost is started again: it joins what is there. */
  private async start(payout: PlannedPayout): Promise<void> {
    const { number, request } = payout;
    const { payouts } = this.there;
    const joined = await this.scene.insist(partnerOrderIdOf(number), () => payouts.start(request));
    if (joined) this.started.add(number);
    this.expectEnd(payout);
  }

  /** Of one that runs again, or at last, although nobody waited for it any more. */
  private expectEnd(payout: PlannedPayout): void {
    const { world } = this.there;
    const { number, approval } = payout;
    if (!this.isOpen(number) || this.scene.open.has(payoutId(number))) return;
    this.scene.open.set(payoutId(number), payout);
    if (approval) world.spawn(this.approve(payout, approval));
  }

  private async approve(
    { number }: PlannedPayout,
    { afterMs, verdict }: NonNullable<PlannedPayout['approval']>,
  ): Promise<void> {
    const { world, payouts } = this.there;
    while (this.scene.open.has(payoutId(number))) {
      await world.sleep(afterMs + 1_000);
      if ((await this.scene.stateOf(number))?.phase !== 'AWAITING_APPROVAL') continue;
      const ref = { partnerOrderId: partnerOrderIdOf(number) };
      this.scene.act('payout', ref.partnerOrderId, verdict);
      if (verdict === 'approve') this.approved.add(number);
      const taken = await this.tolerant(number, () => payouts[verdict](ref, { by: 'approver' }));
      if (taken) this.scene.took(number, { what: verdict });
    }
  }

  private async meddle(payout: PlannedPayout, meddling: Meddling): Promise<void> {
    const { number, atMs } = payout;
    const { world, server, client } = this.there;
    await world.sleep(meddling.atMs - atMs);
    const ref = { partnerOrderId: partnerOrderIdOf(number) };
    if (meddling.kind === 'start-again') {
      this.scene.act('payout', ref.partnerOrderId, meddling.kind);
      await this.start(payout);
      return;
    }
    if (meddling.kind === 'start-otherwise') {
      if (server.latest(payoutId(number)) && !this.plan.restored) await this.startOtherwise(payout);
      return;
    }
    if (meddling.kind === 'reset') {
      this.reset(payout, meddling.part);
      if (meddling.thenCancels) await this.cancel(number);
      return;
    }
    if (!this.isOpen(number)) return;
    this.scene.act('payout', ref.partnerOrderId, meddling.kind);
    if (meddling.kind === 'cancel') await this.cancel(number);
    else {
      const { terminations } = this.scene;
      terminations.set(number, (terminations.get(number) ?? 0) + 1);
      await this.tolerant(number, () => client.workflow.getHandle(payoutId(number)).terminate('by a person'));
    }
  }

  /** To an earlier workflow task; one that has ended is open again. */
  private reset(payout: PlannedPayout, part: number): void {
    const { server } = this.there;
    const { number } = payout;
    const run = server.latest(payoutId(number));
    if (!run) return;
    const hadEnded = !run.isRunning;
    if (!this.scene.reset(run, part)) return;
    if (hadEnded) this.scene.reopened.add(number);
    this.scene.act('payout', partnerOrderIdOf(number), hadEnded ? 'reset after its end' : 'reset');
    this.expectEnd(payout);
  }

  private async startOtherwise({ number, request }: PlannedPayout): Promise<void> {
    const about = partnerOrderIdOf(number);
    this.scene.act('payout', about, 'start-otherwise');
    await this.scene.mustConflict(about, PayoutConflictError, () =>
      this.there.payouts.start({ ...request, remittancePurposeCode: 'OTHER' }),
    );
  }

  private async cancel(number: number): Promise<void> {
    const ref = { partnerOrderId: partnerOrderIdOf(number) };
    const taken = await this.tolerant(number, () => this.there.payouts.cancel(ref, { by: PERSON }));
    if (taken) this.scene.took(number, { what: 'cancel' });
  }

  /** Looks at payouts, and decides what needs a decision by the provider's ledger. */
  private async operate(): Promise<void> {
    const { world } = this.there;
    for (;;) {
      await world.sleep(world.random.between(0.5, 1) * LOOKS_EVERY_MS);
      this.judgeTokens();
      for (const feature of this.features) feature.look?.();
      for (const { number } of this.plan.payouts)
        if (this.isListed(number) || (this.isOpen(number) && world.random.chance(LOOKS_ANYWAY)))
          world.spawn(this.lookAfter(number));
    }
  }

  private async lookAfter(number: number): Promise<void> {
    const { payouts, provider } = this.there;
    const state = await this.scene.stateOf(number);
    if (state?.phase !== 'NEEDS_REVIEW') return;
    const partnerOrderId = partnerOrderIdOf(number);
    if (!state.needsAttention) this.there.world.violation(`${partnerOrderId} is in review, and not flagged`);
    const [order] = provider.control.ledgerOf(partnerOrderId).orders;
    const by = PERSON;
    // Nobody has a payout sent again that another has refused.
    const isRefused = this.plan.payouts.some(
      (payout) => payout.number === number && payout.approval?.verdict === 'refuse',
    );
    const then = isRefused ? 'end' : this.plan.withoutOrder;
    const decision: Resolution = order
      ? { by, created: true, orderId: order.orderId }
      : { by, created: false, then };
    this.scene.act('payout', partnerOrderId, order ? 'it was created' : `not created, ${then}`);
    if (order) this.named.add(number);
    const taken = await this.tolerant(number, () => payouts.resolve({ partnerOrderId }, decision));
    if (taken) this.scene.took(number, { what: 'resolve', orderId: order?.orderId });
  }

  private tolerant<T>(number: number, act: () => Promise<T>): Promise<T | undefined> {
    return this.scene.tolerant(partnerOrderIdOf(number), act);
  }

  // ---- the oracle

  private judgeEnds(): void {
    const { world } = this.there;
    for (const { number } of this.scene.open.values())
      world.violation(`${partnerOrderIdOf(number)} has not ended: ${this.whyOpen(number)}`);
    for (const what of this.unfinished) world.violation(`${what} has not ended`);
  }

  private async judgeAll(): Promise<void> {
    // First, for it takes its time: an end that was told too early shows by what the provider changes after it.
    if (this.plan.followsUp) await this.judgeFollowUps();
    await this.judge();
    for (const feature of this.features) await feature.judge?.();
  }

  private isOpen(number: number): boolean {
    return this.there.server.latest(payoutId(number))?.isRunning ?? false;
  }

  /** Among those that wait for a decision. */
  private isListed(number: number): boolean {
    const run = this.there.server.latest(payoutId(number));
    return (run?.isRunning ?? false) && textOf(run?.attributes['PayoutPhase']) === 'NEEDS_REVIEW';
  }

  private whyOpen(number: number): string {
    const run = this.there.server.latest(payoutId(number));
    if (!run) return 'it never started';
    const last = run.entries.slice(-3).map(({ type }) => EventType[type].replace('EVENT_TYPE_', ''));
    const phase = textOf(run.attributes['PayoutPhase']);
    return `${phase}, ${last.join(', ')}, ${run.entries.length} events, task attempt ${run.taskAttempt}`;
  }

  private async judge(): Promise<void> {
    const { world, provider, payouts } = this.there;
    for (const payout of this.plan.payouts) {
      const partnerOrderId = partnerOrderIdOf(payout.number);
      const ledger = provider.control.ledgerOf(partnerOrderId);
      if (ledger.debits > 1) world.violation(`${partnerOrderId} was debited ${ledger.debits} times`);
      if (this.scene.open.has(payoutId(payout.number))) continue;
      // A batch was cancelled before it; the batch is judged by that.
      if (!this.there.server.latest(payoutId(payout.number))) continue;
      const ended: unknown = await world.finish(
        payouts.result({ partnerOrderId }).catch((error: unknown) => error),
      );
      const parsed = payoutResultSchema.safeParse(ended);
      if (!parsed.success) {
        world.violation(`${partnerOrderId} has no outcome: ${String(ended)}`);
        continue;
      }
      this.scene.results.set(payout.number, parsed.data);
      for (const text of discrepancies(parsed.data, ledger)) world.violation(`${partnerOrderId}: ${text}`);
      for (const wrong of this.withoutLeave(payout, ledger)) world.violation(`${partnerOrderId} ${wrong}`);
    }
    this.judgeLedger();
  }

  private judgeLedger(): void {
    const { world, provider } = this.there;
    const { orders, creates } = provider.control.ledger();
    const numbers = new Set(this.plan.payouts.map(({ number }) => partnerOrderIdOf(number)));
    for (const { orderId, partnerOrderId } of orders)
      if (!numbers.has(partnerOrderId ?? '')) world.violation(`order ${orderId} is of no payout`);
    for (const wrong of oddCreates(creates)) world.violation(wrong);
  }

  /** What happened and needs a person, and no person was asked. */
  private withoutLeave({ number, request }: PlannedPayout, { orders, debits }: LedgerOf): string[] {
    const { receiver, approval } = request;
    const goesElsewhere = orders.some(
      ({ beneficiary }) =>
        beneficiary.bankAccountNumber !== receiver.bankAccountNumber ||
        beneficiary.bankAccountName !== receiver.bankAccountName,
    );
    return [
      approval === 'required' && debits > 0 && !this.approved.has(number) && 'was paid and not approved',
      goesElsewhere && !this.named.has(number) && 'has an order for somebody else, and nobody was asked',
    ].filter((wrong) => typeof wrong === 'string');
  }

  /** Whoever is turned away asks for another token: few calls come with one that the provider has taken back. */
  private judgeTokens(): void {
    const { world, provider } = this.there;
    if (this.plan.tokensEndAtMs === undefined || world.violations.length > 0) return;
    const sinceMs = (this.scene.calmSinceMs ?? world.now) + TOKENS_REST_MS;
    const dead = provider.control.calls().filter(({ token, atMs }) => token === 'expired' && atMs > sinceMs);
    if (dead.length > MOST_DEAD_TOKENS)
      world.violation(`${dead.length} calls came with a token that had been taken back long ago`);
  }

  /** Each payout that ended with an order is followed up. */
  private async judgeFollowUps(): Promise<void> {
    const { world, server, provider } = this.there;
    const unfollowed = () =>
      this.plan.payouts
        .map(({ number }) => partnerOrderIdOf(number))
        .filter((number) => provider.control.ledgerOf(number).orders.length > 0)
        .filter((number) => !this.scene.open.has(payoutWorkflowId('default', number)))
        .filter((number) => !server.latest(payoutFollowUpWorkflowId('default', number)));
    await world.run({ done: () => unfollowed().length === 0, withinMs: FOLLOWED_WITHIN_MS });
    for (const number of unfollowed()) world.violation(`${number} is not followed up`);
  }
}

function troubled(plan: Plan, world: World): Trip {
  const trip = tripOf(plan, world.random);
  if (trip.fate !== 'arrives') world.met.add(`network ${trip.fate}`);
  return trip;
}

/** A payout's creates are the same but for the lock (H3), and no lock is of two payouts (H12). */
function oddCreates(creates: readonly CreateRecord[]): string[] {
  const bodies = new Map<string | null, string>();
  const payers = new Map<string, string | null>();
  const odd: string[] = [];
  for (const { body, partnerOrderId } of creates) {
    const [text = '', lock = ''] = /"lockRateId":"((?:[^"\\]|\\.)*)"/.exec(body) ?? [];
    const rest = body.replace(text, '');
    if ((bodies.get(partnerOrderId) ?? rest) !== rest) odd.push(`${partnerOrderId} was sent with two bodies`);
    if (payers.has(lock) && payers.get(lock) !== partnerOrderId) odd.push(`lock ${lock} is of two payouts`);
    bodies.set(partnerOrderId, rest);
    payers.set(lock, partnerOrderId);
  }
  return odd;
}

function counted(outcomes: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

function textOf(field: Run['attributes'][string] | undefined): string {
  return Buffer.from(field?.data ?? []).toString();
}

/** Answers how it ends. */
function strike(process: Process, kind: Strike['kind']): () => void {
  switch (kind) {
    case 'kill':
      process.kill();
      return () => process.start();
    case 'stop':
      process.stop();
      return () => {
        process.kill();
        process.start();
      };
    case 'freeze':
      process.frozen = true;
      return () => {
        process.frozen = false;
      };
    case 'cut-off':
      process.cutOff = true;
      return () => {
        process.cutOff = false;
      };
    case 'cut-off-from-provider':
      process.cutOffFromProvider = true;
      return () => {
        process.cutOffFromProvider = false;
      };
    case 'clock-jump':
      process.wallAheadMs += 30_000;
      return () => {
        process.wallAheadMs -= 30_000;
      };
  }
}
