import { afterEach, expect, test } from 'vitest';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { renewUpdate, tokenStateQuery } from '../../src/contract/workflows.ts';
import { authorized } from '../support/authorized.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { VirtualWorld, type VirtualWorldOptions } from '../support/virtual-world.ts';

let world: VirtualWorld;

async function stage(settings: VirtualWorldOptions['settings'] = {}): Promise<void> {
  const env = { PAYMENTS_CALL_TIMEOUT: '1m', PAYOUTS_TOKEN_KEYS: newKey('t1') };
  world = await VirtualWorld.start({ env, settings: { userTokenSeconds: 3_600, ...settings } });
}

function killAndReplace(...held: { release: () => void }[]): void {
  const [worker] = world.system.processes;
  worker?.kill();
  for (const { release } of held) release();
  worker?.start();
}

afterEach(() => world.stop());

const renewal = (openId?: string) => world.client.workflow.getHandle(tokenWorkflowId('default', openId));
const state = (openId?: string) => renewal(openId).query(tokenStateQuery);
const calls = (operation: string) =>
  world.simulator.control.calls().filter((call) => call.operation === operation).length;
/** A query waits for the workflow task of the process that was killed, and may give up before that. */
const renewed = (times: number, openId?: string) =>
  eventually(async () => {
    const seen = await state(openId).catch(() => undefined);
    return seen?.renewals === times || undefined;
  });

/** A renewal whose call is held at the provider, before or after its effect. */
async function standing(operation: 'token' | 'oauthToken', effect: 'before' | 'after', openId?: string) {
  const held = world.hold({ operation, times: 1 }, effect);
  await renewal(openId).startUpdate(renewUpdate, { waitForStage: 'ACCEPTED' });
  await eventually(held.arrived);
  return held;
}

test('H42 killed with SIGKILL before and after an application token is granted: the next attempt gets one', async () => {
  await stage();
  await world.payouts.result(await world.pay('success final=0s'));
  killAndReplace(await standing('token', 'before'));
  await renewed(2);
  killAndReplace(await standing('token', 'after'));
  await renewed(3);
  expect(await state()).toMatchObject({ needsAttention: false });
});

test('H42 killed with SIGKILL before and after a refresh, while the previous refresh token is valid: no caller notices', async () => {
  await stage();
  const [one, two] = [await authorized(world), await authorized(world)];
  killAndReplace(await standing('oauthToken', 'before', one), await standing('oauthToken', 'after', two));
  await renewed(2, one);
  await renewed(2, two);
  // Once the tokens are recorded, the record decides: another worker requests nothing.
  const before = calls('oauthToken');
  killAndReplace();
  for (const openId of [one, two]) {
    const seen = await eventually(() => state(openId).catch(() => undefined));
    expect(seen).toMatchObject({ renewals: 2, needsAttention: false });
    expect(calls('oauthToken')).toBe(before);
  }
  // And the refresh tokens in it are the current ones.
  for (const openId of [one, two])
    expect(await renewal(openId).executeUpdate(renewUpdate)).toMatchObject({
      renewals: 3,
      needsAttention: false,
    });
});

test('H42 killed with SIGKILL after a refresh, while only the newest token is valid: flagged at once, never a loop', async () => {
  await stage({ previousRefreshTokenValid: false });
  const openId = await authorized(world);
  killAndReplace(await standing('oauthToken', 'after', openId));
  await eventually(async () => (await state(openId)).needsAuthorization || undefined);
  const { reasons } = await state(openId);
  expect(reasons).toEqual([
    { code: 'REFRESH_REFUSED', message: expect.stringContaining('may have used it up') },
  ]);
  await eventually(
    () => world.system.world.logs.some((line) => line.includes('a token needs attention')) || undefined,
  );
  // The exchange, the refresh whose answer was lost, and the one that was refused.
  expect(calls('oauthToken')).toBe(3);
  await authorized(world, openId);
  expect(await state(openId)).toMatchObject({ needsAuthorization: false, needsAttention: false });
});
