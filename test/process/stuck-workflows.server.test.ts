/** Workflows that are deliberately stuck: they are found, reported, and repaired as docs/operations.md says. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { findTemporalCli } from '../../scripts/setup/temporal-cli.ts';
import type { PayoutRef } from '../../src/client/payouts.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { renewUpdate } from '../../src/contract/workflows.ts';
import type { FailingWorkflow } from '../../src/domain/reconciliation.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { cli } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { get, startApiServer } from '../support/http.ts';
import { createsOf } from '../support/ledger.ts';
import { modifiedBundle } from '../support/modified-version/bundle.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { reconcile } from '../support/reconciliation.ts';

const place = { environment: 'test', app: 'default' };
const folder = mkdtempSync(join(tmpdir(), 'payouts-modified-'));
const modified = join(folder, 'workflows.js');
const token = tokenWorkflowId('default');
const CAUSE = 'NON_DETERMINISTIC_ERROR';
let world: PayoutWorld;
let toReset: PayoutRef;
let toRollBack: PayoutRef;
let failing: FailingWorkflow[];

beforeAll(async () => {
  writeFileSync(modified, await modifiedBundle());
  world = await PayoutWorld.start({ env: { PAYOUTS_WORKFLOW_BUNDLE: modified } });
  [toReset, toRollBack] = [await world.pay('slow final=1h'), await world.pay('slow final=1h')];
  for (const ref of [toReset, toRollBack]) await untilProcessing(ref);
  await world.stopWorkers();
  await world.startWorkers({ PAYOUTS_WORKFLOW_BUNDLE: inject('workflowBundle') });
  const renewal = world.client.workflow.getHandle(token);
  void renewal.executeUpdate(renewUpdate).catch(() => undefined);
  failing = await eventually(async () => {
    const report = await reconcile(world);
    // The cause is that of the newest attempt: on a busy machine one may time out between two that fail.
    const isTold = report.failing.length >= 3 && report.failing.every(({ cause }) => cause === CAUSE);
    return isTold ? report.failing : undefined;
  });
});

afterAll(async () => {
  await world.stop();
  rmSync(folder, { recursive: true, force: true });
});

const workflowId = (ref: PayoutRef) => world.payouts.handle(ref).workflowId;

/** A query would fail until the other version has run its additional command. */
async function untilProcessing(ref: PayoutRef): Promise<void> {
  await eventually(async () => {
    const { searchAttributes } = await world.payouts.handle(ref).describe();
    return searchAttributes['PayoutPhase']?.[0] === 'PROCESSING' || undefined;
  });
}

async function typed(...args: string[]): Promise<string> {
  const where = ['--address', world.address, '--namespace', world.namespace];
  const { stdout } = await promisify(execFile)(await findTemporalCli(), [...args, ...where]);
  return stdout;
}

describe('H52 a workflow whose task keeps failing is reported', () => {
  test('the reconciliation finds it, whatever its type, with the cause', () => {
    const told = failing.map(({ workflowId: id, type, cause }) => ({ id, type, cause }));
    const cause = CAUSE;
    expect(told).toEqual(
      expect.arrayContaining([
        { id: workflowId(toReset), type: 'payout', cause },
        { id: workflowId(toRollBack), type: 'payout', cause },
        { id: token, type: 'tokenRenewal', cause },
      ]),
    );
    expect(failing.every(({ attempt }) => attempt >= 3)).toBe(true);
  });

  test('the reconciliation does not report a healthy workflow', async () => {
    const { count } = await world.client.workflow.count("WorkflowType = 'rateLimitLease'");
    expect(count).toBeGreaterThan(0);
    expect(failing.map(({ type }) => type)).not.toContain('rateLimitLease');
  });

  test('the reconciliation that found it is flagged', async () => {
    const flagged = "WorkflowType = 'payoutReconciliation' AND PayoutReasons = 'WORKFLOW_TASK_FAILS'";
    await eventually(async () => (await world.client.workflow.count(flagged)).count > 0 || undefined);
  });

  test('list --attention shows it with its reason', async () => {
    const rows = z
      .array(
        z.object({ partnerOrderId: z.string(), reasons: z.array(z.object({ code: z.string() })).nullable() }),
      )
      .parse((await cli(world.workerEnvironment, ['list', '--attention', '--json'])).json());
    for (const name of [toReset.partnerOrderId, toRollBack.partnerOrderId, token])
      expect(rows.filter((row) => row.partnerOrderId === name)).toMatchObject([
        { reasons: [{ code: 'WORKFLOW_TASK_FAILS' }] },
      ]);
  });

  test('status names the workflow and the usual causes', async () => {
    const { code, ...answer } = await cli(world.workerEnvironment, [
      ...['status', toReset.partnerOrderId, '--json'],
    ]);
    expect(code).toBe(1);
    const { error } = z.object({ error: z.object({ message: z.string() }) }).parse(answer.json());
    expect(error.message).toContain(`the workflow ${workflowId(toReset)} is stuck`);
    expect(error.message).toContain('encryption key');
    expect(error.message).toContain('Stuck workflows');
  });

  test('tokens names it, and shows the other tokens', async () => {
    const openId = 'user-with-a-token';
    const atMs = Date.now();
    const renewals = new TokenRenewals(world.client, PROCESS_RUNTIME);
    const grant = { access: 'a', fingerprint: 'f', lifetimeMs: 3_600_000, obtainedAtMs: atMs };
    await renewals.handOver({ ...place, openId }, grant);
    await eventually(async () => {
      const { count } = await world.client.workflow.count("WorkflowType = 'tokenRenewal'");
      return count > 1 || undefined;
    });
    const { stdout, stderr, code } = await cli(world.workerEnvironment, ['tokens', '--json']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject([
      { openId },
      { workflowId: token, stuck: expect.stringContaining(`the workflow ${token} is stuck`) },
    ]);
    const text = await cli(world.workerEnvironment, ['tokens']);
    expect(text.stdout).toContain(openId);
    expect(text.stdout).toContain('cannot be read');
    await typed('workflow', 'terminate', '-w', tokenWorkflowId('default', openId), '--reason', 'done');
  });

  test('doctor names it and the page that helps', async () => {
    const { stdout, code } = await cli(world.workerEnvironment, ['doctor']);
    expect(code).toBe(6);
    expect(stdout).toMatch(/^FAIL tokens: .*the workflow token:default:application is stuck/m);
    expect(stdout).toMatch(/FAIL +workflow tasks: .*NON_DETERMINISTIC_ERROR/);
    expect(stdout).toContain('docs/operations.md, Stuck workflows');
  });

  test('a metric counts it', async () => {
    const keys = { PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('prometheus', { verbs: ['metrics'] })]) };
    const service = await startApiServer(world.client, keys);
    const { body } = await get(`${service.url}/metrics`, as('prometheus'));
    await service.close();
    expect(String(body)).toMatch(/^payouts_workflow_tasks_failing 3$/m);
  });
});

describe('H52 the runbook repairs it', () => {
  test('terminating a token renewal: the application gets a token by one call, which the other repairs need', async () => {
    const fetched = tokenCalls();
    await typed('workflow', 'terminate', '-w', token, '--reason', 'stands still');
    const grant = await new TokenRenewals(world.client, PROCESS_RUNTIME).grant(place);
    expect(grant.expiresAtMs).toBeGreaterThan(Date.now());
    expect(tokenCalls()).toBe(fetched + 1);
  });

  test('resetting to the last good workflow task: the payout continues and is paid once', async () => {
    const id = workflowId(toReset);
    const { events } = await world.history(toReset);
    const failed = events?.findLast((event) => event.workflowTaskFailedEventAttributes);
    const message = failed?.workflowTaskFailedEventAttributes?.failure?.message ?? '';
    const [, wrong] = /HistoryEvent\(id: (\d+)/.exec(message) ?? [];
    const good = events?.findLast(
      (event) => event.workflowTaskCompletedEventAttributes && Number(event.eventId) < Number(wrong),
    );
    await typed('workflow', 'reset', '-w', id, '--event-id', `${good?.eventId}`, '--reason', 'stands still');
    await untilProcessing(toReset);
    world.simulator.control.changeOrder(toReset.partnerOrderId, { status: 'SUCCESS' });
    expect((await world.payouts.result(toReset)).outcome).toBe('SUCCESS');
    expect(createsOf(world, toReset).length).toBe(1);
  });

  test('running the version that started it: the payout continues by itself', async () => {
    await world.stopWorkers();
    await world.startWorkers({ PAYOUTS_WORKFLOW_BUNDLE: modified });
    // The other version started this renewal, so it is stuck now.
    await typed('workflow', 'terminate', '-w', token, '--reason', 'stands still');
    world.simulator.control.changeOrder(toRollBack.partnerOrderId, { status: 'SUCCESS' });
    expect((await world.payouts.result(toRollBack)).outcome).toBe('SUCCESS');
    expect(createsOf(world, toRollBack).length).toBe(1);
  });

  test('afterwards no workflow is reported', async () => {
    // Visibility lags.
    await eventually(async () => (await reconcile(world)).failing.length === 0 || undefined);
  });
});

function tokenCalls(): number {
  return world.simulator.control.calls().filter(({ operation }) => operation === 'token').length;
}
