import { expect, test } from 'vitest';
import { startApiServer } from '../support/http.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { NO_POLLS } from '../support/test-world.ts';

test("a notification in the provider's form reaches its payout over HTTP: it ends without a poll", async () => {
  const world = await PayoutWorld.start({ env: NO_POLLS });
  const service = await startApiServer(world.client);
  try {
    world.simulator.control.changeApp('demo-app', { notifyUrl: `${service.url}/v1/notifications/default` });
    const ref = await world.pay('success');
    expect(await world.payouts.result(ref)).toMatchObject({ outcome: 'SUCCESS', learnedBy: 'notification' });
  } finally {
    await service.close();
    await world.stop();
  }
});
