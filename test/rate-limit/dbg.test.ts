import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { cuttable } from '../support/cuttable.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { strictWorld } from '../support/rate-limit.ts';
import { busy, WorkerProcesses } from '../support/workers.ts';

test('dbg', async () => {
  const world = await PayoutWorld.start(strictWorld(20));
  const workers = new WorkerProcesses(world);
  const egress = await cuttable(new URL(world.simulator.url).host);
  const behind = `http://${egress.address}`;
  const broken = await workers.start({
    PAYMENTS_BASE_URL: behind,
    PAYMENTS_AUTH_URL: behind,
    PAYOUTS_LOG_LEVEL: 'info',
  });
  await workers.owner();
  const healthy = await workers.start({ PAYOUTS_LOG_LEVEL: 'info' });
  await busy(world, 30, 20);
  egress.close();
  for (let i = 0; i < 6; i++) {
    await sleep(5000);
    console.log(
      i,
      await Promise.race([
        workers.owner().then((o) => (o === healthy ? 'healthy' : 'broken')),
        sleep(3000).then(() => 'none'),
      ]),
      world.simulator.control.calls().length,
    );
  }
  console.log(broken.output().slice(-3000));
  console.log('=====', healthy.output().slice(-1500));
  await workers.end();
  await world.stop();
}, 100000);
