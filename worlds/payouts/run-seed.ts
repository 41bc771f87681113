/** Runs the world of one seed, from its first start until every payout has ended, and checks it. */
import type { DataConverter } from '@temporalio/common';
import type { CallRecord, CreateRecord, LedgerOf } from '../../simulator/index.ts';
import { type PayoutAttentionCode, WHILE_OPEN } from '../../src/contract/attention-codes.ts';
import { payoutFollowUpWorkflowId, payoutWorkflowId } from '../../src/contract/ids.ts';
import { type PayoutState, payoutResultSchema } from '../../src/contract/payout.ts';
import type { Resolution } from '../../src/contract/workflows.ts';
import { faultsIn, hazardsIn } from '../coverage/hazards.ts';
import { discrepancies } from '../discrepancies.ts';
import { UnsettledError } from '../engine/world.ts';
import type { Process } from '../process/life.ts';
import type { Trip } from '../provider/transport.ts';
import type { Workflows } from '../sdk.ts';
import { EventType } from '../temporal/history.ts';
import type { PendingActivity } from '../temporal/pending-activity.ts';
import type { Run } from '../temporal/run.ts';
import { snapshotOf } from '../temporal/snapshot.ts';
import type { WorkflowTaskFaults } from '../temporal/workflow-tasks.ts';
import { Batches, isOfBatch } from './batches.ts';
import { Decisions, stateProblem } from './decisions.ts';
import { Deletions } from './deletions.ts';
import { needsBoundTrades, tradeOf } from './dialects.ts';
import { Events } from './events.ts';
import { FaultFree } from './fault-free.ts';
import { KeyRotation } from './key-rotation.ts';
import { LeaseOwners } from './lease-owners.ts';
import { Openings } from './openings.ts';
import { OperationOutage } from './operation-outage.ts';
import { Orders } from './orders.ts';
import { Pauses } from './pauses.ts';
import { fastTrip, PayoutWorld, partnerOrderIdOf, payoutId, readerConverter, refOf } from './payout-world.ts';
import { hasSecondApp, planOf, tripOf } from './plan.ts';
import type { Intervention, Plan, PlannedPayout, ProcessFault } from './planned.ts';
import { Policies } from './policies.ts';
import { isBeyondApprovals, Prices, type SeenTerms, sameTerms, seenTerms, termsOf } from './prices.ts';
import { QueueOrder } from './queue-order.ts';
import { RunEnds } from './run-ends.ts';
import { type Decision, type Feature, Scene } from './scene.ts';
import { Secrets } from './secrets.ts';
import { isOfStranger, isStarted, Strangers } from './strangers.ts';
import { timelineLines } from './timeline.ts';
import { Upgrade } from './upgrade.ts';
import { Users } from './users.ts';

export interface SeedReport {
  seed: number;
  violations: readonly string[];
  facts: readonly string[];
  payouts: number;
  outcomes: Readonly<Record<string, number>>;
  runs: readonly Run[];
  /** Decodes the payloads of `runs`, and those of every other world. */
  converter: DataConverter;
  activations: number;
  replays: number;
  processFaults: number;
  faultsHit: number;
  calls: number;
  events: number;
  virtualMs: number;
  /** With `coverage`: the names of the faults that occurred, and the hazards that the world reached. */
  faults: readonly string[];
  hazards: readonly string[];
  /** The timeline of the world. */
  timeline: readonly string[];
}

/** Measured from the end of the faults. Longer than every default wait except that for an approval. */
const COMPLETION_LIMIT_MS = 3 * 3_600_000;
/** With settings that do not fit the provider, some payouts do not end. */
const UNFIT_COMPLETION_LIMIT_MS = 20 * 60_000;
/** Only delay may follow, even from hours. */
const CLOCK_JUMP_MS = 6 * 3_600_000;
/** Measured from the end of the last payout. Longer than the interval of reconciliation plus the lag of lists. */
const FOLLOW_UP_LIMIT_MS = 20 * 60_000;
const INSPECTION_INTERVAL_MS = 20_000;
/** The operator inspects every payout that is listed for review, and other payouts at random. */
const RANDOM_INSPECTION_PROBABILITY = 0.3;
/** An allowance for calls in flight in each process that takes the lease. */
const MAX_STALE_TOKEN_CALLS = 100;
/** Renewals pause after several rejected tokens in a row, which wrong answers also cause. */
const TOKEN_BACKOFF_MS = 120_000;
const CALLS_PER_SECOND_LIMIT = 20;
/** Long enough for another process to take the lease and to send. */
const SLOW_CONNECT_MS = 4_500;
const SLOW_CONNECT_CUT_MS = 6_000;
const OPERATOR = 'operator';
/** A true response with another amount or rate. */
const FALSE_TERMS = 'random-answer changed';

const FEATURES: readonly (new (scene: Scene) => Feature)[] = [
  ...[Batches, Openings, Users, Strangers, KeyRotation, Upgrade, OperationOutage, Pauses, Policies, Prices],
  ...[Deletions, Orders, Decisions, QueueOrder, LeaseOwners, RunEnds, Events, Secrets, FaultFree],
];

export interface RunOptions {
  /** The code that the processes run until the world upgrades them. Default: the code under test. */
  released?: Workflows | undefined;
  /** Stops the world at its first violation and skips the final checks. */
  untilViolation?: boolean;
  /** Includes the timeline if there is no violation, too. */
  trace?: boolean;
  /** Reports which faults occurred and which hazards the world reached. */
  coverage?: boolean;
}

export function runSeed(workflows: Workflows, seed: number, options?: RunOptions): Promise<SeedReport> {
  return runPlan(workflows, planOf(seed), options);
}

export async function runPlan(workflows: Workflows, plan: Plan, options?: RunOptions): Promise<SeedReport> {
  const seeded = new SeededWorld(workflows, plan, options);
  const restoreConsole = seeded.captureConsole();
  try {
    return await seeded.run();
  } finally {
    restoreConsole();
  }
}

class SeededWorld {
  private readonly plan: Plan;
  private readonly system: PayoutWorld;
  private readonly scene: Scene;
  private readonly features: readonly Feature[];
  private readonly started = new Set<number>();
  /** The terms that people approved, by payout. */
  private readonly approved = new Map<number, SeenTerms[]>();
  private readonly resolvedToOrder = new Set<number>();
  private processFaults = 0;
  private readonly workflowTaskFaults: WorkflowTaskFaults;
  private readonly options: RunOptions;

  constructor(workflows: Workflows, plan: Plan, options: RunOptions = {}) {
    this.plan = plan;
    this.options = options;
    const { seed, workers, env, settings } = plan;
    this.workflowTaskFaults = { ...plan.workflowTaskFaults };
    this.system = new PayoutWorld({
      ...{ workflows, seed, workers, env, settings, faults: this.workflowTaskFaults },
      hasSecondApp: hasSecondApp(plan),
      // A world without an upgrade tests the new code from its start.
      released: plan.upgrade && options.released,
      events: plan.events,
      trip: (world, process) =>
        this.scene.faultsEndedAtMs === undefined ? this.faultyTrip(process) : fastTrip(world),
    });
    this.scene = new Scene(plan, this.system);
    this.features = FEATURES.map((Kind) => new Kind(this.scene));
    this.system.server.onChange.push((run) => {
      if (this.scene.hasCompleted(run.workflowId)) this.scene.open.delete(run.workflowId);
    });
  }

  /** Redirects the console output of the product's processes to the logs that are searched for secrets. */
  captureConsole(): () => void {
    const { log, warn, error } = console;
    const capture = (...parts: readonly unknown[]) =>
      void this.system.world.logs.push(parts.map(String).join(' '));
    Object.assign(console, { log: capture, warn: capture, error: capture });
    return () => Object.assign(console, { log, warn, error });
  }

  async run(): Promise<SeedReport> {
    const { plan, system } = this;
    const { world, provider } = system;
    const startedAtMs = world.now;
    for (const rule of plan.faults) provider.control.addFault(rule);
    for (const processFault of plan.processFaults) this.scheduleProcessFault(processFault);
    if (plan.restored) this.scheduleRestore(plan.restored);
    if (plan.temporalOutage) this.scheduleTemporalOutage(plan.temporalOutage);
    system.service.losses = plan.losses;
    system.service.visibility.lagMs = plan.visibilityLagMs;
    if (plan.tokensExpireAtMs !== undefined) world.at(plan.tokensExpireAtMs, () => this.expireTokens());
    for (const payout of plan.payouts) world.spawn(this.pay(payout));
    for (const feature of this.features) feature.begin?.();
    world.spawn(this.runOperator());
    const isFinished = () =>
      (this.scene.open.size === 0 && this.unfinished.length === 0) || this.isStoppedEarly;
    await world.run({ done: isFinished, withinMs: plan.faultPhaseMs });
    this.scene.faultsEndedAtMs = world.now;
    system.service.losses = undefined;
    if (system.endpoint) system.endpoint.isFaulty = false;
    // Temporal waits up to ten minutes between the attempts of a task that is lost again and again.
    this.workflowTaskFaults.lost = 0;
    const faults = provider.control.faults();
    provider.control.removeFaults();
    if (!(await this.complete(isFinished))) this.reportUnfinished();
    if (!this.isStoppedEarly) {
      await this.outliveTemporalOutage(startedAtMs);
      await this.checkAll();
    }
    const { maxCallsInAnySecond, calls } = provider.control.counts();
    if (maxCallsInAnySecond > CALLS_PER_SECOND_LIMIT)
      world.violation(`${maxCallsInAnySecond} calls in one second`);
    const { trace, coverage } = this.options;
    const faultsThere = coverage ? faultsIn(this.scene) : [];
    const hazards = coverage ? hazardsIn(this.scene) : [];
    await system.end();
    return {
      seed: plan.seed,
      violations: [...world.violations],
      facts: world.facts,
      payouts: plan.payouts.length,
      outcomes: countByName([...this.scene.results.values()].map(({ outcome }) => outcome)),
      runs: system.server.runs,
      converter: readerConverter(system),
      ...{ ...world.counts, faults: faultsThere, hazards },
      processFaults: this.processFaults,
      faultsHit: faults.reduce((sum, { hit }) => sum + hit, 0),
      calls,
      events: world.events,
      virtualMs: world.now - startedAtMs,
      timeline:
        world.violations.length > 0 || trace ? timelineLines(system, startedAtMs, this.scene.timeline) : [],
    };
  }

  private get isStoppedEarly(): boolean {
    return (this.options.untilViolation ?? false) && this.system.world.violations.length > 0;
  }

  // ---- faults

  private scheduleProcessFault({ atMs, process: at, kind, lastsMs }: ProcessFault): void {
    const { world, processes } = this.system;
    const process = processes[at];
    if (!process) return;
    world.at(atMs, () => this.beginProcessFault(process, kind, lastsMs));
  }

  private beginProcessFault(process: Process, kind: ProcessFault['kind'], lastsMs: number): void {
    const { world } = this.system;
    this.processFaults += 1;
    world.record(process.name, kind);
    this.noteProcessFault(kind);
    this.scene.note(process.name, `${kind}, for ${Math.round(lastsMs)} ms`);
    world.at(lastsMs, injectProcessFault(process, kind));
  }

  /** Records the kind of fault, and whether it hits a create in flight. */
  private noteProcessFault(kind: ProcessFault['kind']): void {
    const { world, server } = this.system;
    world.occurred.add(kind);
    const isCreate = ({ attributes }: PendingActivity) => attributes.activityType === 'createPayout';
    const isSending = server.runs.some((run) => server.pendingOf(run).some(isCreate));
    if (isSending) world.occurred.add(`${kind} while a create is in flight`);
  }

  private faultyTrip(process: Process): Trip {
    const { plan } = this;
    const { world } = this.system;
    const trip = tripOf(plan, world.random);
    if (trip.fate !== 'arrives') world.occurred.add(`network ${trip.fate}`);
    // The end of this cut would end a longer one.
    if (process.cutOff || !world.random.chance(plan.slowConnects)) return trip;
    world.occurred.add('cut-off while a call connects');
    this.beginProcessFault(process, 'cut-off', SLOW_CONNECT_CUT_MS);
    return { ...trip, connectMs: SLOW_CONNECT_MS };
  }

  private scheduleRestore({ toMs, atMs }: NonNullable<Plan['restored']>): void {
    const { world, server } = this.system;
    world.at(toMs, () => {
      const snapshot = snapshotOf(server);
      world.at(atMs - toMs, () => {
        this.scene.note('Temporal', `is restored to its state ${((atMs - toMs) / 1_000).toFixed(3)} s ago`);
        world.occurred.add('restore');
        const restoredAtMs = world.now;
        this.scene.restoredAtMs = restoredAtMs;
        const { failover } = this.plan;
        if (failover) {
          world.occurred.add('failover');
          this.system.failOver(snapshot);
          world.at(failover.noticedAfterMs, () => world.spawn(this.system.setRecovered(restoredAtMs)));
        } else this.system.restore(snapshot);
        this.afterRestore();
      });
    });
  }

  private scheduleTemporalOutage({ atMs, lastsMs }: NonNullable<Plan['temporalOutage']>): void {
    const { world, service, processes } = this.system;
    const set = (isUnavailable: boolean) => {
      service.isUnavailable = isUnavailable;
      for (const process of processes) process.cutOff = isUnavailable;
    };
    world.at(atMs, () => {
      this.scene.note('Temporal', `is unavailable, for ${Math.round(lastsMs)} ms`);
      world.occurred.add('Temporal: unavailable');
      set(true);
      world.at(lastsMs, () => set(false));
    });
  }

  /** The checks read Temporal. The payouts may end before an outage of its clients does. */
  private async outliveTemporalOutage(startedAtMs: number): Promise<void> {
    const { world } = this.system;
    const { atMs, lastsMs } = this.plan.temporalOutage ?? { atMs: 0, lastsMs: 0 };
    const leftMs = startedAtMs + atMs + lastsMs - world.now;
    if (leftMs >= 0) await world.run({ withinMs: leftMs });
  }

  private afterRestore(): void {
    const { world } = this.system;
    for (const payout of this.plan.payouts) {
      this.scene.open.set(payoutId(payout.number), payout);
      // The caller of a forgotten payout has no result and starts the payout again.
      if (this.started.delete(payout.number)) world.spawn(this.pay({ ...payout, atMs: 0, batch: undefined }));
      // The batch starts its forgotten rows again.
      else if (payout.approval && isOfBatch(this.plan, payout))
        world.spawn(this.approve(payout, payout.approval));
    }
    // A later run of an ended payout, after a reset, is open.
    for (const workflowId of this.scene.open.keys())
      if (this.scene.hasCompleted(workflowId)) this.scene.open.delete(workflowId);
    for (const feature of this.features) feature.restored?.();
  }

  private expireTokens(): void {
    const { expired } = this.system.provider.control.expireTokens();
    this.scene.note('provider', `revokes ${expired} tokens`);
    this.system.world.occurred.add('tokens revoked');
  }

  private get unfinished(): string[] {
    return this.features.flatMap((feature) => feature.unfinished?.() ?? []);
  }

  // ---- people

  private async pay(payout: PlannedPayout): Promise<void> {
    const { world } = this.system;
    await world.sleep(payout.atMs);
    if (!isOfBatch(this.plan, payout)) await this.start(payout);
    if (payout.approval) world.spawn(this.approve(payout, payout.approval));
    for (const one of payout.interventions) world.spawn(this.intervene(payout, one));
  }

  /** Repeats a start whose answer was lost. The repeated start joins the existing payout. */
  private async start(payout: PlannedPayout): Promise<void> {
    const { number, request } = payout;
    const { payouts, server } = this.system;
    const { restoredAtMs } = this.scene;
    const joined = await this.scene.retryWhileUnavailable(partnerOrderIdOf(number), () =>
      payouts.start(request),
    );
    // The answer was under way while Temporal was restored to before the start.
    const isForgotten = this.scene.restoredAtMs !== restoredAtMs && !server.latest(payoutId(number));
    if (joined && isForgotten) return this.start(payout);
    if (joined) this.started.add(number);
    this.trackUntilEnd(payout);
  }

  /** Waits for the end of a payout that runs although it was not in the list of open ones. */
  private trackUntilEnd(payout: PlannedPayout): void {
    const { world } = this.system;
    const { number, approval } = payout;
    if (!this.isOpen(number) || this.scene.open.has(payoutId(number))) return;
    // Nobody has started the payout: the run of a stranger fails as bad input.
    if (!isStarted(this.system.server, number)) return;
    this.scene.open.set(payoutId(number), payout);
    if (approval) world.spawn(this.approve(payout, approval));
  }

  private async approve(
    { number }: PlannedPayout,
    { afterMs, verdict }: NonNullable<PlannedPayout['approval']>,
  ): Promise<void> {
    const { world, payouts } = this.system;
    while (this.scene.open.has(payoutId(number))) {
      await world.sleep(afterMs + 1_000);
      const state = await this.scene.stateOf(number);
      if (state?.phase !== 'AWAITING_APPROVAL') continue;
      const ref = refOf(number);
      this.scene.recordAction('payout', ref.partnerOrderId, verdict);
      const { tolerance } = this.plan.prices ?? {};
      const isTolerant = verdict === 'approve' && tolerance !== undefined;
      if (verdict === 'approve')
        this.approved.set(number, [...(this.approved.get(number) ?? []), ...seenTerms(state)]);
      const lockRateId = state.quote?.lockRateId;
      const sent = { by: 'approver', lockRateId, ...(isTolerant && { tolerance }) };
      const after = await this.ignoreExpectedErrors(number, () => payouts[verdict](ref, sent));
      this.recordDecision(number, { what: verdict, sent, after });
    }
  }

  private async intervene(payout: PlannedPayout, intervention: Intervention): Promise<void> {
    const { number, atMs } = payout;
    const { world, server, client } = this.system;
    await world.sleep(intervention.atMs - atMs);
    const ref = refOf(number);
    if (intervention.kind === 'start-again') {
      this.scene.recordAction('payout', ref.partnerOrderId, intervention.kind);
      await this.start(payout);
      return;
    }
    if (intervention.kind === 'start-different-body') {
      const run = server.latest(payoutId(number));
      // If lists lag, a start with bad input hides the earlier start, and the id seems free.
      if (run && !isOfStranger(run) && !this.plan.restored) await this.startWithDifferentBody(payout);
      return;
    }
    if (intervention.kind === 'reset') {
      this.reset(payout, intervention.part);
      if (intervention.thenCancels) await this.cancel(number);
      return;
    }
    if (!this.isOpen(number)) return;
    this.scene.recordAction('payout', ref.partnerOrderId, intervention.kind);
    if (intervention.kind === 'cancel') await this.cancel(number);
    else {
      this.scene.countTermination(number);
      await this.ignoreExpectedErrors(number, () =>
        client.workflow.getHandle(payoutId(number)).terminate('by an operator'),
      );
    }
  }

  /** Resets a payout to an earlier workflow task. A payout that had ended is open again. */
  private reset(payout: PlannedPayout, part: number): void {
    const { server } = this.system;
    const { number } = payout;
    const run = server.latest(payoutId(number));
    if (!run) return;
    const hadEnded = !run.isRunning;
    if (!this.scene.reset(run, part)) return;
    if (hadEnded) this.scene.reopened.add(number);
    this.scene.recordAction('payout', partnerOrderIdOf(number), hadEnded ? 'reset after its end' : 'reset');
    this.trackUntilEnd(payout);
  }

  private async startWithDifferentBody({ number, request }: PlannedPayout): Promise<void> {
    const about = partnerOrderIdOf(number);
    this.scene.recordAction('payout', about, 'start-different-body');
    const other = number % 2 === 0 ? { remittancePurposeCode: 'OTHER' } : { metadata: { row: 'other' } };
    await this.scene.expectConflict(about, () => this.system.payouts.start({ ...request, ...other }));
  }

  private async cancel(number: number): Promise<void> {
    const ref = refOf(number);
    const sent = { by: OPERATOR };
    const after = await this.ignoreExpectedErrors(number, () => this.system.payouts.cancel(ref, sent));
    this.recordDecision(number, { what: 'cancel', sent, after });
  }

  /** `after`: the state that the decision returned; undefined if it was not accepted, or its response was lost. */
  private recordDecision(
    number: number,
    {
      after,
      sent,
      ...made
    }: Omit<Decision, 'atMs'> & { sent: { by: string }; after: PayoutState | undefined },
  ): void {
    if (!after) return;
    this.scene.recordDecision(number, made);
    const problem = stateProblem({ ...made, sent }, after);
    if (problem && this.system.runsOnlyNewest)
      this.system.world.violation(`${partnerOrderIdOf(number)} ${problem}`);
  }

  /** Inspects payouts, and resolves reviews from the provider's ledger. */
  private async runOperator(): Promise<void> {
    const { world } = this.system;
    for (;;) {
      await world.sleep(world.random.between(0.5, 1) * INSPECTION_INTERVAL_MS);
      this.checkTokens();
      for (const feature of this.features) feature.inspect?.();
      for (const { number } of this.plan.payouts)
        if (
          this.isListedForReview(number) ||
          (this.isOpen(number) && world.random.chance(RANDOM_INSPECTION_PROBABILITY))
        )
          world.spawn(this.reviewPayout(number));
    }
  }

  private async reviewPayout(number: number): Promise<void> {
    const { payouts, provider } = this.system;
    const state = await this.scene.stateOf(number);
    if (state?.phase !== 'NEEDS_REVIEW') return;
    const partnerOrderId = partnerOrderIdOf(number);
    if (!state.needsAttention) this.system.world.violation(`${partnerOrderId} is in review without a flag`);
    const [order] = provider.control.ledgerOf(partnerOrderId).orders;
    const by = OPERATOR;
    // A payout that the approver refuses is never sent again.
    const isRefused = this.plan.payouts.some(
      (payout) => payout.number === number && payout.approval?.verdict === 'refuse',
    );
    const then = isRefused ? 'end' : this.plan.resolutionWithoutOrder;
    const decision: Resolution = order
      ? { by, created: true, orderId: order.orderId, ...tradeOf(this.plan, order.orderId, state) }
      : { by, created: false, then, sends: state.sends, reviewedOrderIds: state.reviewedOrderIds };
    this.scene.recordAction(
      'payout',
      partnerOrderId,
      order ? 'resolve: created' : `resolve: not created, ${then}`,
    );
    if (order) this.resolvedToOrder.add(number);
    const after = await this.ignoreExpectedErrors(number, () => payouts.resolve(refOf(number), decision));
    this.recordDecision(number, { what: 'resolve', orderId: order?.orderId, sent: decision, after });
  }

  private ignoreExpectedErrors<T>(number: number, action: () => Promise<T>): Promise<T | undefined> {
    return this.scene.ignoreExpectedErrors(partnerOrderIdOf(number), action);
  }

  // ---- the oracle

  /**
   * Settings that do not fit the provider may leave a payout to a person, its batch open, and the batch's next rows not
   * started. Right after a decision it has no flag.
   */
  /** Returns whether everything has ended. With settings that do not fit, it may also have been left to a person. */
  private async complete(done: () => boolean): Promise<boolean> {
    const { world } = this.system;
    const limitMs = world.now + COMPLETION_LIMIT_MS;
    const withinMs = this.isUnfit ? UNFIT_COMPLETION_LIMIT_MS : COMPLETION_LIMIT_MS;
    for (;;) {
      const ending = await world.run({ done, withinMs });
      if (ending === 'done') return true;
      if (ending === 'idle' || this.isLeftToPeople() || world.now >= limitMs) return false;
    }
  }

  /** The open payouts: `left` to a person, or `late`. */
  private openPayouts(): { left: PlannedPayout[]; late: PlannedPayout[] } {
    const open = [...this.scene.open.values()];
    const isLeft = ({ number }: PlannedPayout) =>
      this.isUnfit && (this.isFlagged(number) || this.resolvedToOrder.has(number));
    const left = open.filter(isLeft);
    const isBehind = ({ number, batch }: PlannedPayout) =>
      batch !== undefined &&
      !isStarted(this.system.server, number) &&
      left.some((one) => one.batch === batch);
    return { left, late: open.filter((payout) => !left.includes(payout) && !isBehind(payout)) };
  }

  private isLeftToPeople(): boolean {
    const { left, late } = this.openPayouts();
    return late.length === 0 && this.unfinishedBeside(left).length === 0;
  }

  /** A batch waits for the payouts that are left to a person. */
  private unfinishedBeside(left: readonly PlannedPayout[]): string[] {
    return this.unfinished.filter((what) => left.length === 0 || !what.startsWith('batch '));
  }

  private reportUnfinished(): void {
    const { world } = this.system;
    const { left, late } = this.openPayouts();
    for (const { number } of late)
      world.violation(`${partnerOrderIdOf(number)} has not ended: ${this.describeOpen(number)}`);
    if (left.length > 0) world.occurred.add('payouts left to a person');
    for (const what of this.unfinishedBeside(left)) world.violation(`${what} has not ended`);
  }

  private get isUnfit(): boolean {
    return this.plan.dialect?.fits === false;
  }

  private isFlagged(number: number): boolean {
    const run = this.system.server.latest(payoutId(number));
    return textOf(run?.attributes['PayoutNeedsAttention']).includes('true');
  }

  /** A check that never gets its answer is a violation, and ends the checks. */
  private async checkAll(): Promise<void> {
    try {
      await this.runChecks();
    } catch (error) {
      if (!(error instanceof UnsettledError)) throw error;
      const open = this.plan.payouts.filter(({ number }) => this.isOpen(number));
      const states = open.map(({ number }) => `${partnerOrderIdOf(number)}: ${this.describeOpen(number)}`);
      this.system.world.violation(`a check gets ${error.message}; open: ${states.join('; ') || 'no payout'}`);
    }
  }

  private async runChecks(): Promise<void> {
    // Runs first, because it takes time: if a payout ended too early, the provider changes its order
    // afterwards.
    if (this.plan.awaitsFollowUps) await this.checkFollowUps();
    await this.checkPayouts();
    for (const feature of this.features) await feature.check?.();
  }

  private isOpen(number: number): boolean {
    return this.system.server.latest(payoutId(number))?.isRunning ?? false;
  }

  /** Whether Temporal lists the payout as waiting for a decision. */
  private isListedForReview(number: number): boolean {
    const run = this.system.server.latest(payoutId(number));
    return (run?.isRunning ?? false) && textOf(run?.attributes['PayoutPhase']) === 'NEEDS_REVIEW';
  }

  private describeOpen(number: number): string {
    const run = this.system.server.latest(payoutId(number));
    if (!run) return 'never started';
    const last = run.entries.slice(-3).map(({ type }) => EventType[type].replace('EVENT_TYPE_', ''));
    const phase = textOf(run.attributes['PayoutPhase']);
    return `${phase}, ${last.join(', ')}, ${run.entries.length} events, task attempt ${run.taskAttempt}`;
  }

  private async checkPayouts(): Promise<void> {
    const { world, provider, payouts } = this.system;
    for (const payout of this.plan.payouts) {
      const partnerOrderId = partnerOrderIdOf(payout.number);
      const ledger = provider.control.ledgerOf(partnerOrderId);
      if (ledger.debits > 1) world.violation(`${partnerOrderId} was debited ${ledger.debits} times`);
      if (this.scene.open.has(payoutId(payout.number))) continue;
      // The batch was canceled before this row. The checks of the batch cover it.
      if (!isStarted(this.system.server, payout.number)) continue;
      const ended: unknown = await world.finish(
        payouts.result(refOf(payout.number)).catch((error: unknown) => error),
      );
      const parsed = payoutResultSchema.safeParse(ended);
      if (!parsed.success) {
        world.violation(`${partnerOrderId} has no outcome: ${String(ended)}`);
        continue;
      }
      this.scene.results.set(payout.number, parsed.data);
      for (const text of discrepancies(parsed.data, ledger)) world.violation(`${partnerOrderId}: ${text}`);
      for (const problem of [...this.unauthorizedEffects(payout, ledger), ...this.openQuestions(payout)])
        world.violation(`${partnerOrderId} ${problem}`);
    }
    this.checkLedger();
  }

  private checkLedger(): void {
    const { world, provider } = this.system;
    const { orders, creates } = provider.control.ledger();
    const numbers = new Set(this.plan.payouts.map(({ number }) => partnerOrderIdOf(number)));
    for (const { orderId, partnerOrderId } of orders)
      if (!numbers.has(partnerOrderId ?? '')) world.violation(`order ${orderId} belongs to no payout`);
    for (const problem of createProblems(creates)) world.violation(problem);
  }

  /** Flags of an ended payout that still ask for a decision or for patience. */
  private openQuestions({ number }: PlannedPayout): string[] {
    if (!this.system.runsOnlyNewest) return [];
    return WHILE_OPEN.filter((code) => this.hasFlag(number, code)).map(
      (code) => `has ended with the flag ${code}`,
    );
  }

  private hasFlag(number: number, code: PayoutAttentionCode): boolean {
    const flags = textOf(this.system.server.latest(payoutId(number))?.attributes['PayoutReasons']);
    return flags.includes(`"${code}"`);
  }

  /** Effects that require a person's decision, without that decision. */
  private unauthorizedEffects({ number, request }: PlannedPayout, { orders, debits }: LedgerOf): string[] {
    const { receiver, approval } = request;
    const paysAnotherBeneficiary = orders.some(
      ({ beneficiary }) =>
        beneficiary.bankAccountNumber !== receiver.bankAccountNumber ||
        beneficiary.bankAccountName !== receiver.bankAccountName,
    );
    const approved = this.approved.get(number) ?? [];
    const result = this.scene.results.get(number);
    const isPaid = approval === 'required' && debits > 0;
    const order = this.system.runsOnlyNewest
      ? orders.find(({ orderId }) => orderId === result?.orderId)
      : undefined;
    // The provider changed the terms of the create call. A history that can be read, and a rate, show that (H13, H264).
    const { deletion, restored, settings } = this.plan;
    const isShown = !deletion && !restored && settings.shownRate !== 'zero';
    const isDrifted = request.platform === 'sim:drift' && isShown;
    const isFlagged = this.hasFlag(number, 'ORDER_DIFFERS_FROM_QUOTE');
    return [
      isPaid && approved.length === 0 && 'was paid without approval',
      isPaid &&
        order !== undefined &&
        // The payout says so: the provider's quote for this lock was false, or it changed the terms (H264).
        !(
          isFlagged &&
          (request.platform === 'sim:drift' || order.lockRateId === result?.quote?.lockRateId)
        ) &&
        !this.resolvedToOrder.has(number) &&
        isBeyondApprovals(termsOf(order), approved, this.plan.prices?.tolerance) &&
        'was paid at worse terms than anybody approved',
      order !== undefined &&
        !isFlagged &&
        !this.isMisread(number) &&
        (isDrifted || (result?.quote !== undefined && !sameTerms(termsOf(order), termsOf(result.quote)))) &&
        'has an order with other terms than its quote, and no flag',
      needsBoundTrades(this.plan) &&
        result?.orderId !== undefined &&
        !this.resolvedToOrder.has(number) &&
        'ended with a trade of another number that no person bound',
      paysAnotherBeneficiary &&
        !this.resolvedToOrder.has(number) &&
        'has an order for another beneficiary that no person confirmed',
    ].filter((problem) => typeof problem === 'string');
  }

  /**
   * Whether a false response may be all that a run knows of its order's terms: after a restore, without the quotes of earlier
   * runs. Debits contradict it only if everything was paid.
   */
  private isMisread(number: number): boolean {
    const isFalse = ({ partnerOrderId, operation, fault }: CallRecord) =>
      partnerOrderId === partnerOrderIdOf(number) && operation === 'queryDetail' && fault === FALSE_TERMS;
    return (
      this.plan.restored !== undefined &&
      this.scene.results.get(number)?.outcome !== 'SUCCESS' &&
      this.system.provider.control.calls().some(isFalse)
    );
  }

  /** A rejected token is replaced, so only few calls use a token that the provider has revoked. */
  private checkTokens(): void {
    const { world, provider } = this.system;
    if (this.plan.tokensExpireAtMs === undefined || world.violations.length > 0) return;
    const sinceMs = (this.scene.faultsEndedAtMs ?? world.now) + TOKEN_BACKOFF_MS;
    const staleCalls = provider.control
      .calls()
      .filter(({ token, atMs }) => token === 'expired' && atMs > sinceMs);
    if (staleCalls.length > MAX_STALE_TOKEN_CALLS)
      world.violation(`${staleCalls.length} calls used a token long after it was revoked`);
  }

  /** Every payout that ended with an order has a follow-up. */
  private async checkFollowUps(): Promise<void> {
    const { world, server, provider } = this.system;
    const unfollowed = () =>
      this.plan.payouts
        .map(({ number }) => refOf(number))
        .filter(({ partnerOrderId }) => provider.control.ledgerOf(partnerOrderId).orders.length > 0)
        .filter(({ app, partnerOrderId }) => !this.scene.open.has(payoutWorkflowId(app, partnerOrderId)))
        // A restore has forgotten the payout, and its batch was canceled before it started the row again.
        .filter(({ app, partnerOrderId }) => server.latest(payoutWorkflowId(app, partnerOrderId)))
        .filter(({ app, partnerOrderId }) => !server.latest(payoutFollowUpWorkflowId(app, partnerOrderId)));
    await world.run({ done: () => unfollowed().length === 0, withinMs: FOLLOW_UP_LIMIT_MS });
    for (const { partnerOrderId } of unfollowed()) world.violation(`${partnerOrderId} has no follow-up`);
  }
}

/** A payout's creates differ only in the lock (H3), and no lock serves two payouts (H12). */
function createProblems(creates: readonly CreateRecord[]): string[] {
  const bodies = new Map<string | null, string>();
  const payers = new Map<string, string | null>();
  const problems: string[] = [];
  for (const { body, partnerOrderId } of creates) {
    const [text = '', lock = ''] = /"lockRateId":"((?:[^"\\]|\\.)*)"/.exec(body) ?? [];
    const rest = body.replace(text, '');
    if ((bodies.get(partnerOrderId) ?? rest) !== rest)
      problems.push(`${partnerOrderId} was sent with two bodies`);
    if (payers.has(lock) && payers.get(lock) !== partnerOrderId)
      problems.push(`lock ${lock} serves two payouts`);
    bodies.set(partnerOrderId, rest);
    payers.set(lock, partnerOrderId);
  }
  return problems;
}

function countByName(outcomes: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

function textOf(field: Run['attributes'][string] | undefined): string {
  return Buffer.from(field?.data ?? []).toString();
}

/** Returns the function that ends the fault. */
function injectProcessFault(process: Process, kind: ProcessFault['kind']): () => void {
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
      process.wallClockOffsetMs += CLOCK_JUMP_MS;
      return () => {
        process.wallClockOffsetMs -= CLOCK_JUMP_MS;
      };
  }
}
