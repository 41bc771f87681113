/** The simulated Temporal matches the real server: the same payouts run on both, and leave the same history events. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { SimulatorControl } from '../../simulator/index.ts';
import type { PayoutRef, Payouts } from '../../src/client/payouts.ts';
import type { Environment } from '../../src/config/environment.ts';
import type { PayoutPhase } from '../../src/contract/codes.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { PayoutWorld as SimulatedWorld } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';
import { EventType } from '../../worlds/temporal/history.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { NO_POLLS, newPartnerOrderId, QUICK } from '../support/test-world.ts';

/** One of the two, as a scenario sees it. */
interface Stage {
  payouts: Payouts;
  provider: Pick<SimulatorControl, 'addFault'>;
  /** Lets time pass until then. */
  settled<T>(work: Promise<T>): Promise<T>;
  until(ref: PayoutRef, phase: PayoutPhase): Promise<unknown>;
  /** Names of the history events of its latest run. */
  events(ref: PayoutRef): Promise<string[]>;
}

/** A call that may take long keeps the confirmation open as long. */
const UNPOLLED: Environment = { ...NO_POLLS, PAYMENTS_CALL_TIMEOUT: '2s' };
const ENV: Environment = { ...QUICK, PAYMENTS_CALLS_PER_SECOND: '500' };
const by = 'olga';

let workflows: Workflows;
let polled: PayoutWorld;
let unpolled: PayoutWorld;
beforeAll(async () => {
  workflows = await loadWorkflows(inject('workflowBundle'));
  polled = await PayoutWorld.start();
  unpolled = await PayoutWorld.start({ env: UNPOLLED });
});
afterAll(async () => {
  await polled.stop();
  await unpolled.stop();
});

function nameOf(type: number | null | undefined): string {
  return EventType[type ?? 0]?.replace('EVENT_TYPE_', '') ?? '';
}

function real(world: PayoutWorld): Stage {
  return {
    payouts: world.payouts,
    provider: world.simulator.control,
    settled: (work) => work,
    until: (ref, phase) => world.until(ref, (state) => state.phase === phase),
    events: async (ref) =>
      ((await world.history(ref)).events ?? []).map(({ eventType }) => nameOf(eventType)),
  };
}

function simulated(env: Environment): Stage {
  const system = new SimulatedWorld({ workflows, seed: 1, env: { ...ENV, ...env } });
  const { world, payouts, provider, server } = system;
  return {
    payouts,
    provider: provider.control,
    settled: (work) => world.finish(work),
    async until(ref, phase) {
      for (;;) {
        const state = await world.finish(payouts.state(ref).catch(() => undefined));
        if (state?.phase === phase) return;
        await world.run({ withinMs: 50 });
      }
    },
    async events(ref) {
      expect(world.violations).toEqual([]);
      const { workflowId } = payouts.handle(ref);
      return (server.latest(workflowId)?.entries ?? []).map(({ type }) => nameOf(type));
    },
  };
}

async function pay({ payouts, settled }: Stage, scenario: string, over: Partial<PayoutRequest> = {}) {
  const request = payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}`, ...over });
  await settled(payouts.start(request));
  return { partnerOrderId: request.partnerOrderId };
}

function payWithFault(
  stage: Stage,
  kind: 'drop-before' | 'drop-after',
  scenario = 'success',
): Promise<PayoutRef> {
  const partnerOrderId = newPartnerOrderId();
  stage.provider.addFault({ operation: 'createCnyOrder', partnerOrderId, times: 1, fault: { kind } });
  return pay(stage, scenario, { partnerOrderId });
}

type Case = (stage: Stage) => Promise<PayoutRef>;

const CASES: Record<string, Case> = {
  polled: (stage) => pay(stage, 'success notify=none'),
  split: (stage) => pay(stage, 'partial splits=3 failed=1 notify=none'),
  'out of limits': (stage) => pay(stage, 'success', { limits: { minRate: '99' } }),
  'its answer was lost': (stage) => payWithFault(stage, 'drop-after', 'success notify=none'),
  async approved(stage) {
    const ref = await pay(stage, 'success final=0s notify=none', { approval: 'required' });
    await stage.until(ref, 'AWAITING_APPROVAL');
    await stage.settled(stage.payouts.approve(ref, { by }));
    return ref;
  },
  async refused(stage) {
    const ref = await pay(stage, 'success', { approval: 'required' });
    await stage.until(ref, 'AWAITING_APPROVAL');
    await stage.settled(stage.payouts.refuse(ref, { by }));
    return ref;
  },
  async 'canceled by us'(stage) {
    const ref = await pay(stage, 'success', { notBefore: '2099-01-01T00:00:00Z' });
    await stage.until(ref, 'SCHEDULED');
    await stage.settled(stage.payouts.cancel(ref, { by }));
    return ref;
  },
  async 'canceled through Temporal'(stage) {
    const ref = await pay(stage, 'success', { approval: 'required' });
    await stage.until(ref, 'AWAITING_APPROVAL');
    await stage.settled(stage.payouts.handle(ref).cancel());
    return ref;
  },
};

const UNPOLLED_CASES: Record<string, Case> = {
  // While the review rests for an hour: a query in flight would change the order of the events.
  async reviewed(stage) {
    const ref = await payWithFault(stage, 'drop-before');
    await stage.until(ref, 'NEEDS_REVIEW');
    await stage.settled(stage.payouts.resolve(ref, { by, created: false, then: 'end' }));
    return ref;
  },
  async notified(stage) {
    const ref = await pay(stage, 'success final=0s notify=none');
    await stage.until(ref, 'PROCESSING');
    const receivedAt = '2027-01-01T00:00:00Z';
    await stage.settled(stage.payouts.notify(ref, { ...ref, receivedAt }));
    return ref;
  },
  async 'asked for by a person'(stage) {
    const ref = await pay(stage, 'success final=0s notify=none');
    await stage.until(ref, 'PROCESSING');
    await stage.settled(stage.payouts.poll(ref));
    return ref;
  },
};

/** The number of queries and of workflow tasks depends on the speed of the machine; their kind and order do not. */
async function shape(stage: Stage, life: Case): Promise<string[]> {
  const ref = await life(stage);
  await stage.settled(stage.payouts.result(ref));
  const events = (await stage.events(ref)).filter((name) => !name.startsWith('WORKFLOW_TASK_'));
  return once(`${events.join(' ')} `)
    .trim()
    .split(' ');
}

/** Repeated blocks, written once. */
function once(text: string): string {
  const shorter = text.replace(/((?:\S+ ){2,16}?)\1+/g, '$1');
  return shorter === text ? text : once(shorter);
}

test.each(Object.entries(CASES))('%s', async (_, life) => {
  expect(await shape(simulated({}), life)).toEqual(await shape(real(polled), life));
});

test.each(Object.entries(UNPOLLED_CASES))('%s', async (_, life) => {
  expect(await shape(simulated(UNPOLLED), life)).toEqual(await shape(real(unpolled), life));
});
