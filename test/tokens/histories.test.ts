import { afterAll, beforeAll, describe, test } from 'vitest';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { renewUpdate } from '../../src/contract/workflows.ts';
import { authorized } from '../support/authorized.ts';
import { eventually } from '../support/eventually.ts';
import { record, replays } from '../support/histories.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

describe('H40 every history of a renewal replays', () => {
  let world: VirtualWorld;
  beforeAll(async () => {
    world = await VirtualWorld.start({
      env: { PAYMENTS_CALL_TIMEOUT: '1m' },
      settings: { userTokenSeconds: 3_600, previousRefreshTokenValid: false },
    });
  });
  afterAll(() => world.stop());

  const handle = (openId?: string) => world.client.workflow.getHandle(tokenWorkflowId('default', openId));
  const renew = (openId?: string) => handle(openId).executeUpdate(renewUpdate);

  const CASES: Record<string, () => Promise<string | undefined>> = {
    async 'token-renewed-on-demand'() {
      await world.payouts.result(await world.pay('success final=0s'));
      for (let i = 0; i < 3; i += 1) await Promise.all([renew(), renew(), renew()]);
      return undefined;
    },
    async 'token-while-asked'() {
      const held = world.hold({ operation: 'token', times: 1 }, 'before');
      await handle().startUpdate(renewUpdate, { waitForStage: 'ACCEPTED' });
      await eventually(held.arrived);
      await handle().startUpdate(renewUpdate, { waitForStage: 'ACCEPTED' });
      held.release();
      await renew();
      return undefined;
    },
    async 'token-refused-and-authorized'() {
      const openId = await authorized(world);
      await renew(openId);
      world.simulator.control.addFault({ operation: 'oauthToken', times: 1, fault: { kind: 'drop-after' } });
      await renew(openId);
      await authorized(world, openId);
      await renew(openId);
      return openId;
    },
  };

  test.each(Object.keys(CASES))('replays a new history: %s', async (name) => {
    const openId = await CASES[name]?.();
    const history = await handle(openId).fetchHistory();
    record(name, history);
    await replays(history);
  });
});
