import { randomUUID } from 'node:crypto';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import type { Grant } from '../../src/contract/tokens.ts';
import { renewUpdate, tokenStateQuery } from '../../src/contract/workflows.ts';
import { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { authorized } from '../support/authorized.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { resetBefore } from '../support/resets.ts';
import { NO_POLLS } from '../support/test-world.ts';
import { VirtualWorld, type VirtualWorldOptions } from '../support/virtual-world.ts';

const grantOf = (name: string, obtainedAtMs: number): Grant => ({
  ...{ access: `${name} access`, fingerprint: name, lifetimeMs: 3_600_000, obtainedAtMs },
  ...{ refresh: `${name} refresh`, refreshLifetimeMs: 86_400_000 },
});

/** A code or a refresh token works once, so these calls must not time out. */
const PATIENT_CALLS = { PAYMENTS_CALL_TIMEOUT: '1m' };
const USER_TOKENS = { ...PATIENT_CALLS, PAYMENTS_GATEWAY_TOKEN: 'user', PAYMENTS_TRADE_TOKEN: 'user' };

const handle = (world: VirtualWorld, openId: string) =>
  world.client.workflow.getHandle(tokenWorkflowId('default', openId));
const state = (world: VirtualWorld, openId: string) => handle(world, openId).query(tokenStateQuery);
const refreshes = (world: VirtualWorld) =>
  world.simulator.control.calls().filter(({ operation }) => operation === 'oauthToken').length;
const unauthorized = (world: VirtualWorld) =>
  world.simulator.control.calls().filter(({ token }) => token !== 'valid' && token !== 'not-needed');

async function inWorld(
  options: VirtualWorldOptions,
  work: (world: VirtualWorld) => Promise<void>,
): Promise<void> {
  const world = await VirtualWorld.start({ ...options, env: { ...PATIENT_CALLS, ...options.env } });
  try {
    await work(world);
  } finally {
    await world.stop();
  }
}

describe('payouts with the token of a user', () => {
  let world: VirtualWorld;
  beforeAll(async () => {
    world = await VirtualWorld.start({
      env: USER_TOKENS,
      // A token is renewed with at least half of this left, which is more than any machine stalls.
      settings: { gatewayToken: 'user', tradeToken: 'user', userTokenSeconds: 20 },
    });
  });
  afterAll(() => world.stop());

  test('over several lifetimes: no call is sent with an expired token, and the refresh token rotates', async () => {
    const openId = await authorized(world);
    const before = refreshes(world);
    while (refreshes(world) - before < 3) {
      const ref = await world.pay('slow final=2s', { openId });
      expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    }
    expect(unauthorized(world)).toEqual([]);
    expect((await state(world, openId)).needsAttention).toBe(false);
  });

  test('without an openId: bad input, with the field named', async () => {
    const { partnerOrderId } = await world.payouts.start(payoutRequest(`p-${randomUUID()}`));
    await expect(world.payouts.result({ partnerOrderId })).rejects.toMatchObject({
      cause: { type: 'InvalidPayoutRequest', message: expect.stringContaining('openId') },
    });
  });

  test('of a user who never authorized: nothing is sent, and the payout continues once they do', async () => {
    const openId = `late-${randomUUID()}`;
    const ref = await world.pay('success', { openId });
    await world.until(ref, ({ phase }) => phase === 'QUOTING');
    await authorized(world, openId);
    expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
    expect(unauthorized(world)).toEqual([]);
  });
});

describe('H42 the answer to a refresh is lost', () => {
  const LONG = { userTokenSeconds: 3_600 };

  test('the provider still accepts the previous refresh token: the next attempt succeeds', async () => {
    await inWorld({ env: NO_POLLS, settings: LONG }, async (world) => {
      const openId = await authorized(world);
      world.simulator.control.addFault({ operation: 'oauthToken', times: 1, fault: { kind: 'drop-after' } });
      await handle(world, openId).executeUpdate(renewUpdate);
      expect(await state(world, openId)).toMatchObject({ renewals: 2, needsAttention: false });
      // And the refresh token that it now holds is the current one.
      await handle(world, openId).executeUpdate(renewUpdate);
      expect(await state(world, openId)).toMatchObject({ renewals: 3, needsAttention: false });
    });
  });

  test('the provider rejects it: flagged, never a loop; the access token stays in use, a new authorization fixes it', async () => {
    await inWorld(
      { env: USER_TOKENS, settings: { ...LONG, previousRefreshTokenValid: false } },
      async (world) => {
        const openId = await authorized(world);
        world.simulator.control.addFault({
          operation: 'oauthToken',
          times: 1,
          fault: { kind: 'drop-after' },
        });
        await handle(world, openId).executeUpdate(renewUpdate);
        const flagged = await state(world, openId);
        expect(flagged).toMatchObject({ needsAuthorization: true, needsAttention: true });
        expect(flagged.reasons).toEqual([
          { code: 'REFRESH_REFUSED', message: expect.stringMatching(/earlier attempt.*used it up/) },
        ]);
        await eventually(async () => {
          const query = "WorkflowType = 'tokenRenewal' AND PayoutNeedsAttention = true";
          return (await world.client.workflow.count(query)).count > 0 || undefined;
        });
        const calls = refreshes(world);
        const ref = await world.pay('success', { openId });
        expect((await world.payouts.result(ref)).outcome).toBe('SUCCESS');
        expect(refreshes(world)).toBe(calls);
        await authorized(world, openId);
        expect(await state(world, openId)).toMatchObject({
          needsAuthorization: false,
          needsAttention: false,
        });
      },
    );
  });
});

describe('H42 a handover of tokens', () => {
  test('expires by the time in the grant, not by the time when the workflow sees it', async () => {
    await inWorld({ idle: true }, async (world) => {
      const owner = { environment: 'test', app: 'default', openId: `user-${randomUUID()}` };
      const obtainedAtMs = world.clock.wallMs() - 60_000;
      await new TokenRenewals(world.client, world.runtime).handOver(owner, grantOf('one', obtainedAtMs));
      await world.startWorkers();
      expect(await eventually(() => state(world, owner.openId).catch(() => undefined))).toMatchObject({
        obtainedAt: new Date(obtainedAtMs).toISOString(),
        expiresAt: new Date(obtainedAtMs + 3_600_000).toISOString(),
        refreshExpiresAt: new Date(obtainedAtMs + 86_400_000).toISOString(),
      });
    });
  });

  test('of an older authorization, or repeated, does not replace a newer one', async () => {
    await inWorld({ idle: true }, async (world) => {
      const owner = { environment: 'test', app: 'default', openId: `user-${randomUUID()}` };
      const renewals = new TokenRenewals(world.client, world.runtime);
      const now = world.clock.wallMs();
      const [older, newer] = [grantOf('older', now - 60_000), grantOf('newer', now - 30_000)];
      for (const grant of [newer, older, newer]) await renewals.handOver(owner, grant);
      await world.startWorkers();
      const seen = await eventually(() => state(world, owner.openId).catch(() => undefined));
      expect(seen).toMatchObject({ renewals: 1, obtainedAt: new Date(newer.obtainedAtMs).toISOString() });
      for (const grant of [older, grantOf('newest', now), newer]) await renewals.handOver(owner, grant);
      expect(await renewals.grant(owner)).toMatchObject({ access: 'newest access' });
      expect(await state(world, owner.openId)).toMatchObject({ renewals: 2 });
    });
  });

  test('that arrives after a termination does not replace a newer token of the earlier run', async () => {
    await inWorld(
      { settings: { userTokenSeconds: 3_600, previousRefreshTokenValid: false } },
      async (world) => {
        const openId = await authorized(world);
        const owner = { environment: 'test', app: 'default', openId };
        const { obtainedAt = '' } = await state(world, openId);
        await handle(world, openId).executeUpdate(renewUpdate);
        await handle(world, openId).terminate('a mistake in the UI');
        const renewals = new TokenRenewals(world.client, world.runtime);
        await renewals.ensure(owner);
        await eventually(async () => ((await state(world, openId)).renewals === 1 ? true : undefined));
        await renewals.handOver(owner, grantOf('late', Date.parse(obtainedAt)));
        await handle(world, openId).executeUpdate(renewUpdate);
        expect(await state(world, openId)).toMatchObject({ renewals: 2, needsAuthorization: false });
      },
    );
  });

  test('of an exchange carries the time when the exchange began, which is before the tokens were issued', async () => {
    await inWorld({ settings: { userTokenSeconds: 3_600 } }, async (world) => {
      const openId = await authorized(world);
      const [exchange] = await activityTimes(world, 'exchangeCode');
      expect((await state(world, openId)).obtainedAt).toBe(exchange?.startedAt);
      await handle(world, openId).executeUpdate(renewUpdate);
      const [refresh] = await activityTimes(world, 'refreshUserToken');
      expect((await state(world, openId)).obtainedAt).toBe(refresh?.startedAt);
    });
  });
});

/** When the activities of this type started, on Temporal's clock. */
async function activityTimes(world: VirtualWorld, activityType: string): Promise<{ startedAt: string }[]> {
  const times: { startedAt: string }[] = [];
  for await (const { workflowId, runId } of world.client.workflow.list()) {
    const { events } = await world.client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const { eventTime, activityTaskStartedEventAttributes: started } of events ?? []) {
      const scheduled = events?.find(({ eventId }) => `${eventId}` === `${started?.scheduledEventId}`);
      if (!started || scheduled?.activityTaskScheduledEventAttributes?.activityType?.name !== activityType)
        continue;
      times.push({ startedAt: new Date(eventTime ? tsToMs(eventTime) : 0).toISOString() });
    }
  }
  return times;
}

describe('H42 a Workflow Reset of a renewal', () => {
  const STRICT = { userTokenSeconds: 3_600, previousRefreshTokenValid: false };

  /** Refreshed twice, then reset to before `activityType` was scheduled for the first time. */
  async function resetWorld(
    activityType: string,
    work: (world: VirtualWorld, openId: string) => Promise<void>,
  ) {
    await inWorld({ settings: STRICT }, async (world) => {
      const openId = await authorized(world);
      for (let i = 0; i < 2; i += 1) await handle(world, openId).executeUpdate(renewUpdate);
      const { runId } = await handle(world, openId).describe();
      await resetBefore(world, handle(world, openId), activityType);
      await eventually(async () => (await handle(world, openId).describe()).runId !== runId || undefined);
      await work(world, openId);
    });
  }

  /** The provider rejects every refresh token but the newest, which would flag the renewal. */
  async function renewsWell(world: VirtualWorld, openId: string) {
    await handle(world, openId).executeUpdate(renewUpdate);
    expect(await state(world, openId)).toMatchObject({ needsAuthorization: false, needsAttention: false });
    expect(
      world.simulator.control
        .calls()
        .filter(({ operation, code }) => operation === 'oauthToken' && `${code}` !== '0'),
    ).toEqual([]);
  }

  test('to before a refresh: sends the newest refresh token, not the rotated one', async () => {
    await resetWorld('refreshUserToken', async (world, openId) => {
      await renewsWell(world, openId);
      await renewsWell(world, openId);
    });
  });

  test('to its first event, twice: the same', async () => {
    await resetWorld('recallGrant', async (world, openId) => {
      await renewsWell(world, openId);
      await resetBefore(world, handle(world, openId), 'recallGrant');
      await renewsWell(world, openId);
    });
  });

  test('followed by a termination: the next run has the newest token too', async () => {
    await resetWorld('refreshUserToken', async (world, openId) => {
      await handle(world, openId).terminate('a mistake in the UI');
      await new TokenRenewals(world.client, world.runtime).ensure({
        environment: 'test',
        app: 'default',
        openId,
      });
      await renewsWell(world, openId);
    });
  });
});

describe('a terminated renewal', () => {
  test('is started again from its last history', async () => {
    await inWorld({ settings: { userTokenSeconds: 3_600 } }, async (world) => {
      const openId = await authorized(world);
      const renewals = new TokenRenewals(world.client, world.runtime);
      await handle(world, openId).terminate('a mistake in the UI');
      await eventually(async () => {
        await renewals.restartStopped({ environment: 'test', app: 'default' });
        return (await handle(world, openId).describe()).status.name === 'RUNNING' || undefined;
      });
      await handle(world, openId).executeUpdate(renewUpdate);
      expect(await state(world, openId)).toMatchObject({ needsAttention: false, renewals: 2 });
    });
  });

  test('does not keep the others from being started again when it cannot be', async () => {
    await inWorld({ settings: { userTokenSeconds: 3_600 } }, async (world) => {
      const [one, two] = [await authorized(world), await authorized(world)];
      for (const openId of [one, two]) await handle(world, openId).terminate('a mistake in the UI');
      // Whichever comes first cannot be described.
      let broken: string | undefined;
      const breaking: WorkflowClientInterceptor = {
        async describe(input, next) {
          const { workflowId } = input.workflowExecution;
          broken ??= workflowId ?? undefined;
          if (broken === workflowId) throw new Error('cannot be described');
          return next(input);
        },
      };
      const client = new Client({
        connection: world.client.connection,
        namespace: world.namespace,
        interceptors: { workflow: [breaking] },
      });
      await eventually(async () => {
        const failed = await new TokenRenewals(client, world.runtime).restartStopped({
          environment: 'test',
          app: 'default',
        });
        return failed.length > 0 || undefined;
      });
      const other = broken === tokenWorkflowId('default', one) ? two : one;
      await eventually(async () => {
        await new TokenRenewals(client, world.runtime).restartStopped({
          environment: 'test',
          app: 'default',
        });
        return (await handle(world, other).describe()).status.name === 'RUNNING' || undefined;
      });
    });
  });

  test('before its first action: the grant that it received is not lost', async () => {
    await inWorld({ idle: true, settings: { userTokenSeconds: 3_600 } }, async (world) => {
      const owner = { environment: 'test', app: 'default', openId: `user-${randomUUID()}` };
      const renewals = new TokenRenewals(world.client, world.runtime);
      await renewals.handOver(owner, grantOf('sealed', world.clock.wallMs()));
      await handle(world, owner.openId).terminate('a mistake in the UI');
      await renewals.ensure(owner);
      // Visibility may show the new run before the old one.
      const query = `WorkflowId = '${tokenWorkflowId('default', owner.openId)}'`;
      await eventually(async () => (await world.client.workflow.count(query)).count === 2 || undefined);
      await world.startWorkers();
      await eventually(async () => ((await state(world, owner.openId)).renewals === 1 ? true : undefined));
      expect(await state(world, owner.openId)).toMatchObject({
        needsAuthorization: false,
        needsAttention: false,
      });
    });
  });

  test('during a refresh that used up the token: flagged', async () => {
    await inWorld(
      { settings: { userTokenSeconds: 3_600, previousRefreshTokenValid: false } },
      async (world) => {
        const openId = await authorized(world);
        const held = world.hold({ operation: 'oauthToken', times: 1 }, 'after');
        await handle(world, openId).startUpdate(renewUpdate, { waitForStage: 'ACCEPTED' });
        await eventually(held.arrived);
        await handle(world, openId).terminate('a mistake in the UI');
        held.release();
        await new TokenRenewals(world.client, world.runtime).ensure({
          environment: 'test',
          app: 'default',
          openId,
        });
        await handle(world, openId).executeUpdate(renewUpdate);
        expect(await state(world, openId)).toMatchObject({ needsAuthorization: true });
      },
    );
  });

  test('that was canceled instead stays stopped', async () => {
    await inWorld({}, async (world) => {
      const openId = await authorized(world);
      await handle(world, openId).cancel();
      await handle(world, openId).result();
      await new TokenRenewals(world.client, world.runtime).restartStopped({
        environment: 'test',
        app: 'default',
      });
      expect((await handle(world, openId).describe()).status.name).toBe('COMPLETED');
    });
  });
});
