import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { FaultRuleInput } from '../../simulator/index.ts';
import { reconciliationId } from '../../src/contract/ids.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import {
  PayoutWorld,
  type PayoutWorldOptions,
  partnerOrderIdOf,
  payoutId,
} from '../../worlds/payouts/payout-world.ts';
import {
  decodeArrayFromPayloads,
  loadDataConverter,
  loadWorkflows,
  type Workflows,
} from '../../worlds/sdk.ts';
import { type Entry, EventType, exported } from '../../worlds/temporal/history.ts';
import type { Run } from '../../worlds/temporal/run.ts';
import { SimulatedWorker } from '../../worlds/temporal/worker.ts';
import { replays } from '../support/histories.ts';
import { approveShown } from '../support/test-world.ts';

const NO_FAULTS = { evicted: 0, lost: 0, failed: 0 };
const HOUR_MS = 3_600_000;
/** Shorter than Temporal waits for a worker that has a workflow in memory. */
const SOON_MS = 500;
const partnerOrderId = partnerOrderIdOf(1);
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is part of a template in the bundle.
const PLANTED = '${made++} ';

let workflows: Workflows;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
});

function worldOf(options: Partial<PayoutWorldOptions> = {}): PayoutWorld {
  return new PayoutWorld({
    workflows,
    seed: 1,
    env: { PAYOUTS_POLL_FIRST: '2s', PAYOUTS_POLL_MAX: '10s' },
    ...options,
  });
}

function typesOf(run: Run | undefined): string[] {
  return (run?.entries ?? []).map(({ type }) => EventType[type].replace('EVENT_TYPE_', ''));
}

function debitsOf({ provider }: PayoutWorld): number {
  return provider.control.ledgerOf(partnerOrderId).debits;
}

/** Histories of a world are encrypted. */
function replaysIn({ converter }: PayoutWorld, entries: Run['entries']): Promise<void> {
  return replays(exported(entries), inject('workflowBundle'), converter);
}

function schedules({ event }: Entry, activityType: string): boolean {
  return event.activityTaskScheduledEventAttributes?.activityType?.name === activityType;
}

function failNextCreate({ provider }: PayoutWorld, fault: FaultRuleInput['fault']): void {
  provider.control.addFault({ operation: 'createCnyOrder', times: 1, fault });
}

/** Starts a payout whose create is lost, and waits until a person must decide. Returns what reads its state. */
async function untilReview(system: PayoutWorld) {
  const { world, payouts } = system;
  failNextCreate(system, { kind: 'drop-before' });
  await world.finish(system.start(1));
  const stateNow = () => world.finish(payouts.state({ partnerOrderId }));
  while ((await stateNow()).phase !== 'NEEDS_REVIEW') await world.run({ withinMs: 1_000 });
  return stateNow;
}

async function paid(system: PayoutWorld, more: Partial<PayoutRequest> = {}): Promise<Run> {
  const { world, server, payouts } = system;
  await world.finish(system.start(1, more));
  expect(await world.finish(payouts.result({ partnerOrderId }), HOUR_MS)).toMatchObject({
    outcome: 'SUCCESS',
  });
  expect(world.violations).toEqual([]);
  expect(debitsOf(system)).toBe(1);
  return server.find(payoutId(1));
}

describe('one payout', () => {
  test('ends with one debit, and the real core replays every history of its world', async () => {
    const system = worldOf();
    const run = await paid(system);
    expect(typesOf(run).filter((type) => type.includes('FAILED') || type.includes('TIMED_OUT'))).toEqual([]);
    for (const { entries } of system.server.runs) await replaysIn(system, entries);
  });

  test('H134 a create whose answer takes longer than the heartbeat timeout: the answer counts', async () => {
    const system = worldOf();
    const fault = { kind: 'latency', ms: 15_000, effect: 'after' } as const;
    system.provider.control.addFault({ operation: 'createCnyOrder', times: 1, fault });
    const run = await paid(system);
    const asked = run.entries.map(
      ({ event }) => event.activityTaskScheduledEventAttributes?.activityType?.name,
    );
    expect(asked).toContain('createPayout');
    expect(asked).not.toContain('confirmOrder');
  });

  test('a reconciliation searches from where the last one ended', async () => {
    const system = worldOf();
    await paid(system);
    const { world, server } = system;
    const beganMs = world.wallMs();
    await world.run({ withinMs: HOUR_MS });
    const converter = loadDataConverter(system.converter);
    const seen: unknown[] = [];
    for (const { workflowId, entries } of server.runs) {
      const { result } = entries.at(-1)?.event.workflowExecutionCompletedEventAttributes ?? {};
      if (!workflowId.startsWith(reconciliationId('test')) || !result) continue;
      const [report] = (await decodeArrayFromPayloads(converter, result.payloads)) ?? [];
      seen.push(report);
    }
    const since = seen.map((one) => z.object({ seenUntilMs: z.number() }).parse(one).seenUntilMs);
    expect(since.length).toBeGreaterThan(2);
    expect(since.every((ms) => ms > beganMs - HOUR_MS)).toBe(true);
    expect(since).toEqual([...since].sort((one, other) => one - other));
  });

  test('replays identically before every workflow task', async () => {
    const system = worldOf({ faults: { ...NO_FAULTS, evicted: 1 } });
    const run = await paid(system);
    expect(typesOf(run)).toEqual(typesOf(await paid(worldOf())));
    expect(system.world.counts.replays).toBeGreaterThan(
      typesOf(run).filter((type) => type === 'WORKFLOW_TASK_COMPLETED').length,
    );
  });

  test('survives lost and failed workflow tasks, of which only first attempts are recorded', async () => {
    const seen = new Set<string>();
    for (const seed of [1, 2, 3, 4]) {
      const types = typesOf(await paid(worldOf({ seed, faults: { ...NO_FAULTS, lost: 0.4, failed: 0.2 } })));
      for (const type of types) seen.add(type);
      expect(types.join()).not.toMatch(
        /WORKFLOW_TASK_FAILED,WORKFLOW_TASK_SCHEDULED,WORKFLOW_TASK_STARTED,WORKFLOW_TASK_FAILED/,
      );
    }
    expect([...seen]).toEqual(expect.arrayContaining(['WORKFLOW_TASK_TIMED_OUT', 'WORKFLOW_TASK_FAILED']));
  });
});

describe('updates, cancellation, termination and reset', () => {
  async function awaitingApproval(faults = NO_FAULTS) {
    const system = worldOf({ faults });
    const { world, payouts, server } = system;
    await world.finish(system.start(1, { approval: 'required' }));
    await world.run({ withinMs: 60_000 });
    expect(await world.finish(payouts.state({ partnerOrderId }))).toMatchObject({
      phase: 'AWAITING_APPROVAL',
    });
    return { system, world, payouts, run: server.find(payoutId(1)) };
  }
  const ref = { partnerOrderId };

  test('approves by an update', async () => {
    const { system, world, payouts, run } = await awaitingApproval({ ...NO_FAULTS, evicted: 1 });
    await world.finish(payouts.approve(ref, { by: 'approver' }));
    expect(await world.finish(payouts.result(ref))).toMatchObject({ outcome: 'SUCCESS' });
    expect(typesOf(run)).toContain('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
    expect(typesOf(run)).toContain('WORKFLOW_EXECUTION_UPDATE_COMPLETED');
    expect(await world.finish(payouts.handle(ref).query('state')), 'answered by a replay').toMatchObject({
      phase: 'DONE',
    });
    expect(world.violations).toEqual([]);
    await replaysIn(system, run.entries);
  });

  test('the validator rejects an update without a trace', async () => {
    const { system, world, payouts, run } = await awaitingApproval();
    const before = run.entries.length;
    const asked = payouts.resolve(ref, { by: 'operator', created: false, then: 'end' });
    await expect(world.finish(asked)).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
    expect(run.entries.length).toBe(before);
    await world.finish(payouts.approve(ref, { by: 'approver' }));
    expect(await world.finish(payouts.result(ref))).toMatchObject({ outcome: 'SUCCESS' });
    await replaysIn(system, run.entries);
  });

  test('cancels through Temporal before the create', async () => {
    const { world, payouts } = await awaitingApproval();
    await world.finish(payouts.handle(ref).cancel());
    const result = { outcome: 'NOT_CREATED', reason: { code: 'CANCELLED' } };
    expect(await world.finish(payouts.result(ref))).toMatchObject(result);
  });

  test('after a termination, reconciliation starts it again, and it does not pay twice', async () => {
    const { system, world, payouts, run } = await awaitingApproval();
    await world.finish(payouts.handle(ref).terminate('by a person'));
    expect(typesOf(run).at(-1)).toBe('WORKFLOW_EXECUTION_TERMINATED');
    const again = () => system.server.latest(payoutId(1))?.isRunning ?? false;
    expect(await world.run({ done: again, withinMs: HOUR_MS })).toBe('done');
    await world.run({ withinMs: 60_000 });
    await world.finish(approveShown(payouts, ref));
    expect(await world.finish(payouts.result(ref))).toMatchObject({ outcome: 'SUCCESS' });
    expect(debitsOf(system)).toBe(1);
  });

  test('H4 an answer that waits for the workflow until the window is over does not close it', async () => {
    const system = worldOf({ env: { PAYOUTS_CONFIRMATION_WINDOW: '10s' } });
    const { world, payouts, server, processes } = system;
    failNextCreate(system, { kind: 'rate-limited-but-executes', showAfterMs: 8_000 });
    await world.finish(system.start(1));
    const isAnswered = () => {
      const { entries } = server.find(payoutId(1));
      const asked = entries.find((entry) => schedules(entry, 'confirmOrder'));
      const isAnswer = ({ event }: Entry) =>
        Number(event.activityTaskCompletedEventAttributes?.scheduledEventId) === asked?.id;
      return asked !== undefined && entries.some(isAnswer);
    };
    // No worker takes the workflow task that has the first answer before the window is over.
    await world.run({ done: isAnswered, withinMs: 60_000 });
    for (const process of processes) process.kill();
    await world.run({ withinMs: 60_000 });
    for (const process of processes) process.start();
    expect(await world.finish(payouts.result({ partnerOrderId }), HOUR_MS)).toMatchObject({
      outcome: 'SUCCESS',
    });
    expect(debitsOf(system)).toBe(1);
    expect(world.violations).toEqual([]);
  });

  test('decides in review that it was not created: until the next quote, the state asks for no decision', async () => {
    const system = worldOf({ env: { PAYOUTS_POLL_FIRST: '2s', PAYOUTS_CONFIRMATION_WINDOW: '10s' } });
    const { world, payouts, provider } = system;
    const stateNow = await untilReview(system);
    const ref = { partnerOrderId };
    await world.finish(payouts.resolve(ref, { by: 'olga', created: false, then: 'retry' }));
    const isDecided = () => provider.control.ledgerOf(partnerOrderId).creates.length > 1;
    const wrong: unknown[] = [];
    for (let state = await stateNow(); !isDecided(); state = await stateNow())
      if (state.phase === 'NEEDS_REVIEW' && !state.needsAttention) wrong.push(state);
    expect(wrong).toEqual([]);
    expect(await world.finish(payouts.result(ref), HOUR_MS)).toMatchObject({ outcome: 'SUCCESS' });
    expect(debitsOf(system)).toBe(1);
  });

  test('H6 after two resets before lists show a run that sent, its order is found', async () => {
    const system = worldOf({ settings: { readLagMs: 5_000 } });
    const { world, server, service, payouts, provider } = system;
    const ledger = () => provider.control.ledgerOf(partnerOrderId);
    service.visibility.lagMs = 24 * HOUR_MS;
    await world.finish(system.start(1));
    await world.run({ done: () => ledger().creates.length > 0, withinMs: HOUR_MS });
    const first = server.find(payoutId(1));
    const finished = first.entries.find(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    const second = server.reset(first, finished?.id ?? 0, 'a try');
    service.visibility.lagMs = SOON_MS;
    server.reset(second, finished?.id ?? 0, 'another');
    const canceled = world.finish(payouts.cancel({ partnerOrderId }, { by: 'olga' }));
    await expect(canceled).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
    expect(await world.finish(payouts.result({ partnerOrderId }), HOUR_MS)).toMatchObject({
      outcome: 'SUCCESS',
    });
    expect([ledger().creates.length, world.violations]).toEqual([1, []]);
  });

  test('H6 reset to a confirmation window before its second send: the window begins again', async () => {
    const system = worldOf({ env: { PAYOUTS_CONFIRMATION_WINDOW: '10s' } });
    const { world, server, payouts, provider } = system;
    const ledger = () => provider.control.ledgerOf(partnerOrderId);
    // The first create is not served. The second is, and trade queries show its order late.
    failNextCreate(system, { kind: 'status', status: 429 });
    await world.finish(system.start(1));
    await world.run({ done: () => ledger().creates.length > 0, withinMs: HOUR_MS });
    failNextCreate(system, { kind: 'rate-limited-but-executes', showAfterMs: 8_000 });
    await world.run({ done: () => ledger().orders.length > 0, withinMs: HOUR_MS });
    const run = server.find(payoutId(1));
    const question = run.entries.findLast((entry) => schedules(entry, 'confirmOrder'));
    const confirming = run.entries.findLast(
      ({ id, type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED && id < (question?.id ?? 0),
    );
    server.reset(run, confirming?.id ?? 0, 'it seems to be stuck');
    expect(await world.finish(payouts.result({ partnerOrderId }), HOUR_MS)).toMatchObject({
      outcome: 'SUCCESS',
    });
    expect([ledger().creates.length, debitsOf(system), world.violations]).toEqual([2, 1, []]);
  });

  test('H6 a reset that applies the decision to send again once more: nothing is sent before its window', async () => {
    const env = { PAYOUTS_CONFIRMATION_WINDOW: '10s', PAYOUTS_POLL_MAX: '10s' };
    const system = worldOf({ env });
    const { world, server, payouts, provider } = system;
    const ledger = () => provider.control.ledgerOf(partnerOrderId);
    const stateNow = await untilReview(system);
    await world.run({ withinMs: 60_000 });
    const run = server.find(payoutId(1));
    const inReview = run.entries.findLast(
      ({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
    );
    failNextCreate(system, { kind: 'rate-limited-but-executes', showAfterMs: 8_000 });
    const decision = { by: 'olga', created: false, then: 'retry' } as const;
    await world.finish(payouts.resolve({ partnerOrderId }, decision));
    await world.run({ done: () => ledger().orders.length > 0, withinMs: HOUR_MS });
    const again = server.reset(run, inReview?.id ?? 0, 'it seems to be stuck');
    await world.run({ withinMs: 120_000 });
    expect(typesOf(again)).toContain('WORKFLOW_EXECUTION_UPDATE_COMPLETED');
    expect(await stateNow()).toMatchObject({ outcome: 'SUCCESS' });
    expect([ledger().creates.length, debitsOf(system), world.violations]).toEqual([2, 1, []]);
  });

  test('after a reset to an earlier workflow task, it does not pay twice', async () => {
    const { system, world, payouts, run } = await awaitingApproval();
    const finished = run.entries.find(({ type }) => type === EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    const second = system.server.reset(run, finished?.id ?? 0, 'a try');
    await world.run({ withinMs: 60_000 });
    await world.finish(approveShown(payouts, ref));
    expect(await world.finish(payouts.result(ref))).toMatchObject({ outcome: 'SUCCESS' });
    expect(world.violations).toEqual([]);
    expect(debitsOf(system)).toBe(1);
    expect(typesOf(run).at(-1)).toBe('WORKFLOW_EXECUTION_TERMINATED');
    await replaysIn(system, second.entries);
  });

  test('is listed a little later, by status and search attribute', async () => {
    const { system, world } = await awaitingApproval();
    const count = (query: string) =>
      world.finish(system.client.workflow.count(query).then(({ count }) => count));
    expect(await count("WorkflowType = 'payout' AND ExecutionStatus = 'Running'")).toBe(1);
    expect(await count("PayoutPhase IN ('CREATING', 'AWAITING_APPROVAL') AND NOT_SET IS NULL")).toBe(1);
    expect(await count("PayoutPhase = 'DONE' AND WorkflowType = 'payout'")).toBe(0);
    await expect(count('PayoutPhase ~ 1')).rejects.toThrow();
  });
});

describe('H52 a query that runs a payout past a fired timer, ahead of its workflow task', () => {
  /** The payout waits, the worker that has it in memory dies, and a query waits for that worker while the timer fires. */
  async function queriedWhileTimerFires() {
    const env = { PAYOUTS_POLL_FIRST: '5s' };
    const system = worldOf({ workers: 2, env, settings: { finalAfterMs: 20_000 } });
    const { world, server, processes, payouts } = system;
    await world.finish(system.start(1, { platform: 'sim:success notify=none' }));
    const run = server.find(payoutId(1));
    const waits = () => run.attributes['PayoutOrderId'] !== undefined && run.timers.size > 0 && !run.task;
    await world.run({ done: waits, withinMs: HOUR_MS });
    const next = Math.min(...[...run.timers.values()].map(({ planned }) => planned.at));
    await world.run({ withinMs: next - world.now - SOON_MS });
    const holder = run.sticky;
    if (!(holder instanceof SimulatedWorker)) throw new Error('no worker has it in memory');
    holder.life.process.kill();
    const alive = processes.filter(({ life }) => life !== undefined);
    for (const process of alive) process.cutOff = true;
    // Without the retry of our clients, which would hide the failure.
    const client = system.service.client({ dataConverter: system.converter, interceptors: {} });
    const answer = client.workflow
      .getHandle(payoutId(1))
      .query('state')
      .catch((error: unknown) => error);
    const fired = () => run.entries.at(-2)?.type === EventType.EVENT_TYPE_TIMER_FIRED;
    await world.run({ done: fired, withinMs: 20_000 });
    expect(run.sticky, 'Temporal still waits for the dead worker').toBe(holder);
    return {
      ...{ run, holder, world },
      answered: () => {
        for (const process of alive) process.cutOff = false;
        return world.finish(answer);
      },
      endsWell: async () => {
        expect(await world.finish(payouts.result({ partnerOrderId }), HOUR_MS)).toMatchObject({
          outcome: 'SUCCESS',
        });
        expect(world.violations).toEqual([]);
        await replaysIn(system, run.entries);
      },
    };
  }

  test('on the clock of the previous task: it is rejected, and the payout continues', async () => {
    const { answered, endsWell } = await queriedWhileTimerFires();
    expect(await answered()).toMatchObject({ message: expect.stringContaining('StaleWorkflowClock') });
    await endsWell();
  });

  test('on the clock of a task that was not completed: it is rejected, and the payout continues', async () => {
    const { run, holder, world, answered, endsWell } = await queriedWhileTimerFires();
    // It dies with the task that it has just received.
    if (run.task) run.startTask(run.task, holder);
    await world.run({ done: () => run.task?.attempt === 2, withinMs: 20_000 });
    expect(await answered()).toMatchObject({ message: expect.stringContaining('StaleWorkflowClock') });
    await endsWell();
  });

  test('on the clock of a task that a dying worker has just received: it is rejected, and the payout continues', async () => {
    const { run, holder, answered, endsWell } = await queriedWhileTimerFires();
    if (run.task) run.startTask(run.task, holder);
    expect(await answered()).toMatchObject({ message: expect.stringContaining('StaleWorkflowClock') });
    expect(run.task?.attempt, 'long before the task times out').toBe(1);
    await endsWell();
  });

  test('core answers it with the task of an update, but without the update: one failed task, and the payout continues', async () => {
    const system = worldOf({ workers: 2 });
    const { world, server, processes, payouts } = system;
    await world.finish(system.start(1, { approval: 'required' }));
    await world.run({ withinMs: 60_000 });
    const run = server.find(payoutId(1));
    const holder = run.sticky;
    if (!(holder instanceof SimulatedWorker)) throw new Error('no worker has it in memory');
    const other = processes.find((process) => process !== holder.life.process);
    if (!other) throw new Error('there is one worker');
    // The query waits for any worker; the update goes to the holder.
    for (const process of processes) process.cutOff = true;
    run.sticky = undefined;
    const client = system.service.client({ dataConverter: system.converter, interceptors: {} });
    const answer = client.workflow.getHandle(payoutId(1)).query('state');
    await world.run({ withinMs: 100 });
    const approved = payouts.approve({ partnerOrderId }, { by: 'approver' });
    await world.run({ done: () => run.task !== undefined, withinMs: 1_000 });
    const work = run.task && run.startTask(run.task, holder);
    if (!work) throw new Error('no task to start');
    other.cutOff = false;
    expect(await world.finish(answer)).toMatchObject({ phase: 'AWAITING_APPROVAL' });
    world.spawn(holder.takeTask(work));
    holder.life.process.cutOff = false;
    await world.finish(approved);
    holder.life.process.kill();
    expect(await world.finish(payouts.result({ partnerOrderId }), HOUR_MS)).toMatchObject({
      outcome: 'SUCCESS',
    });
    expect(world.occurred).toContain('core missed an update');
    expect(typesOf(run).filter((type) => type === 'WORKFLOW_TASK_FAILED')).toHaveLength(1);
    expect([debitsOf(system), world.violations]).toEqual([1, []]);
    await replaysIn(system, run.entries);
  });

  test('a query of a payout that is in memory is answered at once', async () => {
    const system = worldOf({ env: { PAYOUTS_POLL_FIRST: '5s' }, settings: { finalAfterMs: 20_000 } });
    const { world, server } = system;
    await world.finish(system.start(1, { platform: 'sim:success notify=none' }));
    const run = server.find(payoutId(1));
    await world.run({
      done: () => run.attributes['PayoutOrderId'] !== undefined && !run.task,
      withinMs: HOUR_MS,
    });
    const client = system.service.client({ dataConverter: system.converter, interceptors: {} });
    const { replays } = world.counts;
    for (const pauseMs of [0, 10, 1_000]) {
      await world.run({ withinMs: pauseMs });
      const state = await world.finish(client.workflow.getHandle(payoutId(1)).query('state'));
      expect(state).toMatchObject({ phase: 'PROCESSING' });
    }
    expect(world.counts.replays, 'none of them dropped it from memory').toBe(replays);
  });
});

test('a planted nondeterminism is found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'simulation-planted-'));
  const planted = join(folder, 'workflows.js');
  const code = readFileSync(inject('workflowBundle'), 'utf8');
  // The text beside the create counts how many this process has made.
  const modified = code.replace('const summary = `create: pay ', `const summary = \`create: pay ${PLANTED}`);
  expect(modified).not.toBe(code);
  writeFileSync(planted, `let made = 0;\n${modified}`);
  const system = worldOf({ workflows: await loadWorkflows(planted), faults: { ...NO_FAULTS, evicted: 1 } });
  const { world } = system;
  await world.finish(system.start(1));
  await world.run({ done: () => world.violations.length > 0, withinMs: HOUR_MS });
  expect(world.violations[0]).toMatch(
    /^payout:default:p-1: a replay differs at event \d+, .* it issues scheduleActivity /,
  );
  rmSync(folder, { recursive: true });
});
