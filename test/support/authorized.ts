/** A user who has authorized: the code from the simulator's page, exchanged as the call-back does it. */
import { createHash, randomUUID } from 'node:crypto';
import { encryptionKeys } from '../../src/config/encryption.ts';
import { authorizationWorkflowId, PAYOUTS_TASK_QUEUE } from '../../src/domain/identity.ts';
import { TokenSeal } from '../../src/encryption/token-seal.ts';
import { callBackUpdate } from '../../src/workflows/authorization-messages.ts';
import type { userAuthorization } from '../../src/workflows/user-authorization.ts';
import type { PayoutWorld } from './payout-world.ts';

export async function authorized(world: PayoutWorld, openId = `user-${randomUUID()}`): Promise<string> {
  const place = { environment: 'test', app: 'default' };
  const { code } = world.simulator.control.authorize({ appId: 'demo-app', openId });
  const attempt = await world.client.workflow.start<typeof userAuthorization>('userAuthorization', {
    taskQueue: PAYOUTS_TASK_QUEUE,
    workflowId: authorizationWorkflowId('default', createHash('sha256').update(randomUUID()).digest('hex')),
    args: [{ ...place, browser: 'test' }],
  });
  const seal = new TokenSeal(encryptionKeys(world.workerEnvironment).tokens);
  const outcome = await attempt.executeUpdate(callBackUpdate, {
    args: [{ browser: 'test', code: seal.seal(code, place, 'code') }],
  });
  if (outcome.outcome !== 'GRANTED') throw new Error(`not authorized: ${outcome.sentence}`);
  return openId;
}
