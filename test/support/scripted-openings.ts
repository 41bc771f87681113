/** Openings against a scripted provider: the test determines what happens in which order. */

import { activityInfo } from '@temporalio/activity';
import type {
  AccountConfirmation,
  ListedAccounts,
  OpenAccount,
  OpenResult,
} from '../../src/activities/receiving-account/receiving-account-activities.ts';
import { preparation } from '../../src/activities/shared/preparation.ts';
import { workerConfig } from '../../src/config/config.ts';
import { apiTaskQueue, PAYOUTS_TASK_QUEUE } from '../../src/contract/ids.ts';
import { FIXED_LOOKS, NEVER_RESET } from './fixed-looks.ts';
import { simulatedWorkers } from './simulated-workers.ts';
import { productWorkflows, type VirtualWorld } from './virtual-world.ts';

/** What the provider does for one payer. A thrown error is the activity's failure. */
export interface Script {
  /** The accounts before the send, at the `time`th reading, from 1. */
  list?(time: number): string[] | null;
  /** The accounts when they are listed after `sends` sends. */
  look?(sends: number): string[] | null | Promise<string[]>;
  /** The answer to the `send`th send, from 1. */
  open(send: number): OpenResult;
}

export interface ScriptedProvider {
  follow(payerId: string, script: Script): void;
  /** How often it received a request for the accounts before a send, and one to open an account. */
  counts(payerId: string): { lists: number; sends: number };
  stop(): void;
}

export async function scriptedProvider(world: VirtualWorld): Promise<ScriptedProvider> {
  const config = workerConfig(world.workerEnvironment);
  const scripts = new Map<string, Script>();
  const counted = new Map<string, { lists: number; sends: number }>();
  const known = (payerId: string) => {
    const script = scripts.get(payerId);
    const counts = counted.get(payerId);
    if (!script || !counts) throw new Error('no script for this payer');
    return { script, counts };
  };
  const answers = {
    async listReceivingAccounts(_caller: unknown, { payerId }: ListedAccounts): Promise<string[] | null> {
      const { script, counts } = known(payerId);
      counts.lists += 1;
      return script.list?.(counts.lists) ?? [];
    },
    async confirmAccount(_caller: unknown, { payerId }: ListedAccounts): Promise<AccountConfirmation> {
      const { script, counts } = known(payerId);
      const runId = activityInfo().workflowExecution?.runId ?? '';
      return {
        listed: (await script.look?.(counts.sends)) ?? [],
        earlierSend: false,
        mayStillAppear: false,
        runId,
      };
    },
    async openReceivingAccount(_caller: unknown, { request }: OpenAccount): Promise<OpenResult> {
      const { script, counts } = known(request.payerId);
      counts.sends += 1;
      return script.open(counts.sends);
    },
  };
  const { stop } = simulatedWorkers(world, await productWorkflows(), [
    {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowBundle: { codePath: 'loaded before' },
      activities: { ...preparation(config, FIXED_LOOKS, NEVER_RESET, world.runtime) },
    },
    { taskQueue: apiTaskQueue('test', 'default'), activities: answers },
  ]);
  return {
    follow: (payerId, script) => {
      scripts.set(payerId, script);
      counted.set(payerId, { lists: 0, sends: 0 });
    },
    counts: (payerId) => known(payerId).counts,
    stop,
  };
}
