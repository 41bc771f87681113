import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, test } from 'vitest';
import type { LeaseHandover } from '../../src/contract/rate-limit.ts';
import type { Clock } from '../../src/runtime/runtime.ts';
import { Fence, type LeaseOwner, leaseActivities, predecessor } from '../../src/workers/rate-limit/lease.ts';
import { patienceMs } from '../../src/workers/rate-limit/ownership.ts';
import { FakeClock } from '../support/fake-clock.ts';

describe('H37 the fence', () => {
  test('the lease counts from the send of its last acknowledged renewal, by both clocks', async () => {
    const clock = new FakeClock();
    const fence = new Fence(clock);
    expect(fence.isValid()).toBe(false);
    const sent = fence.now();
    await clock.advance(1_000);
    fence.renewed(sent);
    expect(fence.isValid()).toBe(true);
    await clock.advance(300);
    expect(fence.isValid()).toBe(false);
    fence.renewed({ ...fence.now(), wallMs: clock.wallMs() - 1_300 });
    expect(fence.isValid()).toBe(false);
  });

  test('a late acknowledgment does not undo a later renewal', async () => {
    const clock = new FakeClock();
    const fence = new Fence(clock);
    const first = fence.now();
    await clock.advance(900);
    fence.renewed(fence.now());
    fence.renewed(first);
    await clock.advance(1_000);
    expect(fence.isValid()).toBe(true);
  });

  test('a lost lease never counts again', () => {
    const fence = new Fence(new FakeClock());
    fence.renewed(fence.now());
    fence.close();
    fence.renewed(fence.now());
    expect(fence.isValid()).toBe(false);
  });
});

const NOTHING: LeaseHandover = {
  sendAgesMs: [],
  unprovenForMs: [],
  marginMs: 15,
  unreachedTerms: 0,
  nextMode: 'busy',
  silentMs: 0,
};
const SCHEDULED = { activityTaskScheduledEventAttributes: { activityId: 'term' } };
const RESET = { workflowTaskFailedEventAttributes: { newRunId: 'run' } };

/** Runs one term in a workflow with this history. */
function runTerm(owner: LeaseOwner, clock: Clock, events: readonly object[]) {
  const client = {
    withDeadline: (_deadline: number, call: () => Promise<void>) => call(),
    activity: { heartbeat: () => Promise.resolve() },
    options: { namespace: 'default' },
    workflowService: {
      getWorkflowExecutionHistory: async () => ({ history: { events } }),
      describeNamespace: async () => ({}),
    },
  } as unknown as Client;
  const { holdLease } = leaseActivities({ owner, client, clock });
  const environment = new MockActivityEnvironment({
    ...{ activityId: 'term', workflowExecution: { workflowId: 'lease', runId: 'run' } },
  });
  return environment.run(holdLease, { previousOwner: 'unknown' as const, settings: {}, app: 'default' });
}

describe('H37 a term that cannot begin', () => {
  test('leaves no timer', async () => {
    const clock = new FakeClock();
    const timers = new Set<() => void>();
    const counting = {
      nowMs: () => clock.nowMs(),
      wallMs: () => clock.wallMs(),
      after: (ms: number, run: () => void) => {
        const cancel = clock.after(ms, run);
        const stop = () => {
          timers.delete(stop);
          cancel();
        };
        timers.add(stop);
        return stop;
      },
    };
    let isAborted = false;
    const owner: LeaseOwner = {
      app: 'default',
      begin: () => Promise.reject(new Error('no connection')),
      drain: () => Promise.resolve(),
      isInUse: false,
      end: () => NOTHING,
      heartbeat: () => ({ marginMs: 15, alone: false }),
      shouldRelease: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            isAborted = true;
            reject(signal.reason);
          });
        }),
    };
    await expect(runTerm(owner, counting, [SCHEDULED])).rejects.toThrow('no connection');
    await Promise.resolve();
    expect({ timers: timers.size, isAborted }).toEqual({ timers: 0, isAborted: true });
  });

  test.each([
    ['was scheduled before a Workflow Reset', [SCHEDULED, RESET]],
    ['is not in the history', [RESET]],
  ])('H211 sends nothing with settings that may be outdated: it %s', async (_, events) => {
    const owner = { app: 'default', heartbeat: () => ({ marginMs: 15, alone: false }) } as LeaseOwner;
    await expect(runTerm(owner, new FakeClock(), events)).rejects.toMatchObject({ type: 'LEASE_OUTDATED' });
  });
});

describe('H37 what a new owner knows about the previous one', () => {
  const released = { ...NOTHING, runId: 'run-1', sendAgesMs: [1, 2], marginMs: 30 };
  const start = { before: released, runId: 'run-1', attempt: 1, afterFirstMs: 0, details: undefined };
  const WINDOW = 1_200;
  const FENCE_AND_WINDOW = 2_500;

  test('trusts an owner that ended cleanly, in the run in which it did', () => {
    expect(predecessor(start)).toEqual(released);
  });

  test('H317 stays silent as long as an owner that ended in its own silence', () => {
    const silent = { ...released, silentMs: 900 };
    expect(predecessor({ ...start, before: silent })).toEqual(silent);
    expect(predecessor({ ...start, before: silent, attempt: 2 }).silentMs).toBe(FENCE_AND_WINDOW);
  });

  test('H37 ignores its handover in another run: a reset repeats it while a later owner still sends', () => {
    expect(predecessor({ ...start, runId: 'run-2' })).toEqual({ silentMs: FENCE_AND_WINDOW });
  });

  test('after an owner that was killed, waits until its fence has closed', () => {
    expect(predecessor({ ...start, before: 'unknown' }).silentMs).toBe(FENCE_AND_WINDOW);
    expect(predecessor({ ...start, before: 'none' }).silentMs).toBe(WINDOW);
  });

  test('an attempt after a crash still counts the unanswered calls of the owner that released the lease', () => {
    const before = { ...released, unprovenForMs: [1_000, 20_000] };
    const retry = { ...start, before, attempt: 2, afterFirstMs: 1_500 };
    expect(predecessor(retry).unprovenForMs).toEqual([18_500]);
    expect(predecessor({ ...retry, afterFirstMs: 3_600_000 }).unprovenForMs).toEqual([]);
    expect(predecessor({ ...retry, runId: 'run-2' }).unprovenForMs).toBeUndefined();
  });

  test('an attempt that follows one whose silence was over waits only for that one', () => {
    const alone = { marginMs: 30, alone: true };
    const after = { ...start, before: 'unknown' as const, attempt: 2 };
    expect(predecessor({ ...after, details: alone })).toEqual({ silentMs: WINDOW, marginMs: 30 });
    for (const details of [{ ...alone, alone: false }, undefined, 'nonsense'])
      expect(predecessor({ ...after, details }).silentMs).toBe(FENCE_AND_WINDOW);
  });

  test('a second attempt trusts no handover: the first attempt may have sent', () => {
    const known = { silentMs: WINDOW, unprovenForMs: [] };
    expect(predecessor({ ...start, attempt: 2, details: undefined })).toEqual(known);
  });
});

test('while no process reaches the provider, each owner waits twice as long as the previous one, up to a limit', () => {
  expect([0, 1, 2, 3, 10].map(patienceMs)).toEqual([10_000, 20_000, 40_000, 80_000, 300_000]);
});
