/**
 * A user who has authorized: exchanges the code from the simulator's page as the callback does. Temporal delivers a task
 * at most once, and a busy server may lose it, so the user begins again if the outcome is unknown.
 */

import { randomUUID } from 'node:crypto';
import { encryptionKeys } from '../../src/config/keys.ts';
import { authorizationWorkflowId, PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { TokenSeal } from '../../src/encryption/key-ring.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import type { userAuthorization } from '../../src/workflows/tokens/user-authorization.ts';
import type { TestWorld } from './test-world.ts';

export async function authorized(world: TestWorld, openId = `user-${randomUUID()}`): Promise<string> {
  const place = { environment: 'test', app: 'default' };
  const seal = new TokenSeal(encryptionKeys(world.workerEnvironment).authorizations, PROCESS_RUNTIME.random);
  for (;;) {
    const { code } = world.simulator.control.authorize({ appId: 'demo-app', openId });
    const { outcome, sentence } = await world.client.workflow.execute<typeof userAuthorization>(
      'userAuthorization',
      {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowId: authorizationWorkflowId('default', randomUUID()),
        args: [{ ...place, code: seal.seal(code, place, 'code') }],
      },
    );
    if (outcome === 'GRANTED') return openId;
    if (outcome !== 'UNCERTAIN') throw new Error(`not authorized: ${sentence}`);
    console.warn(`authorizes again: ${sentence}`);
  }
}
