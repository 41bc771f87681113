/**
 * DBOS Transact: the payout is a workflow. Each provider call is a child workflow on a queue with a rate limit, because DBOS
 * limits the starts of workflows.
 */
import { randomUUID } from 'node:crypto';
import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { z } from 'zod';
import type { Peer } from '../peer.ts';
import * as provider from '../provider.ts';
import { backoffMs, settings } from '../settings.ts';

const POLLING_MS = 100;
const PAYOUTS = 'payouts';
const CALLS = 'calls';
const FINAL = 'final';

interface Call {
  step: 'quote' | 'create' | 'order' | 'detail';
  attempt: number;
  lock: string;
}
type Answer = { ok: true; value: string | null } | { ok: false; isLockExpired: boolean };

const PRIORITY = { create: 1, detail: 2, order: 3, quote: 4 };

async function makeCall(payout: provider.Payout, call: Call): Promise<Answer> {
  const execution = randomUUID();
  // DBOS repeats a step that was interrupted. If this value is of an earlier execution, the create call may have been sent.
  const begunBy = await DBOS.runStep(async () => execution, { name: 'begin' });
  const mayBeSent = call.attempt > 1 || begunBy !== execution;
  return DBOS.runStep(() => answerOf(payout, call, mayBeSent), { name: call.step });
}

async function answerOf(payout: provider.Payout, call: Call, mayBeSent: boolean): Promise<Answer> {
  try {
    return { ok: true, value: (await made(payout, call, mayBeSent)) ?? null };
  } catch (error) {
    return { ok: false, isLockExpired: error instanceof provider.LockExpired };
  }
}

async function made(payout: provider.Payout, call: Call, mayBeSent: boolean): Promise<string | undefined> {
  if (call.step === 'quote') return provider.quote(payout);
  if (call.step === 'detail') return provider.detail(payout);
  if (call.step === 'order') return (await provider.order(payout))?.end;
  return mayBeSent ? provider.createOnce(payout, call.lock) : provider.create(payout, call.lock);
}

const callWorkflow = DBOS.registerWorkflow(makeCall, { name: 'call' });

/** Undefined: the lock has expired. Every attempt takes a turn under the rate limit. */
async function called(
  payout: provider.Payout,
  step: Call['step'],
  lock = '',
): Promise<{ value: string | null } | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const handle = await DBOS.startWorkflow(callWorkflow, {
      queueName: CALLS,
      enqueueOptions: { priority: PRIORITY[step] },
    })(payout, { step, attempt, lock });
    const answer = await handle.getResult({ pollingIntervalMs: POLLING_MS });
    if (answer.ok) return answer;
    if (answer.isLockExpired) return undefined;
    await DBOS.sleep(backoffMs(attempt));
  }
}

async function payOut(payout: provider.Payout): Promise<string> {
  for (let created: unknown; created === undefined; ) {
    const lock = (await called(payout, 'quote'))?.value ?? '';
    created = await called(payout, 'create', lock);
  }
  for (;;) {
    await DBOS.recv(FINAL, { timeoutSeconds: settings.POLL_MS / 1_000 });
    if ((await called(payout, 'order'))?.value) return (await called(payout, 'detail'))?.value ?? '';
  }
}

DBOS.registerWorkflow(payOut, { name: 'payout' });

const outputSchema = z.string().catch('ERROR');

export const dbos: Peer = {
  async work() {
    DBOS.setConfig({
      name: 'peers',
      systemDatabaseUrl: settings.SERVER,
      // A restarted process recovers what ran under its id.
      executorID: `worker-${settings.WORKER}`,
      applicationVersion: '1',
      runAdminServer: false,
      // The front has run them.
      runMigrations: false,
      logLevel: 'error',
    });
    await DBOS.launch();
    const limit = { limitPerPeriod: settings.CALLS_PER_SECOND, periodSec: 1 };
    const polling = { minPollingIntervalMs: POLLING_MS, onConflict: 'always_update' } as const;
    await DBOS.registerQueue(CALLS, { rateLimit: limit, ...polling });
    await DBOS.registerQueue(PAYOUTS, polling);
  },
  async front() {
    await DBOS.migrate(settings.SERVER);
    const client = await DBOSClient.create({ systemDatabaseUrl: settings.SERVER });
    return {
      start: async (payout) => {
        const what = { queueName: PAYOUTS, workflowName: 'payout', workflowID: payout.id };
        await client.enqueue<typeof payOut>(what, payout);
      },
      notify: (id) => client.send(id, true, FINAL),
      ended: async () => {
        const closed = await client.listWorkflows({
          workflowName: 'payout',
          status: ['SUCCESS', 'ERROR', 'MAX_RECOVERY_ATTEMPTS_EXCEEDED', 'CANCELLED'],
        });
        return closed.map(({ workflowID, output, completedAt, updatedAt }) => ({
          id: workflowID,
          outcome: outputSchema.parse(output),
          atMs: completedAt ?? updatedAt ?? 0,
        }));
      },
    };
  },
};
