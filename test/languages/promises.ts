/** What every language's example has to show, with its own Temporal SDK and its own codec. */
import type { Payload } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildExample, type Language, whyUnavailable } from '../../scripts/setup/examples.mjs';
import { payoutWorkflowId } from '../../src/contract/ids.ts';
import type { PayoutRequest } from '../../src/domain/payout.ts';
import { readStartEvent } from '../../src/temporal/start-event.ts';
import { type ExampleRun, runExample } from '../support/examples.ts';
import { newKey } from '../support/keys.ts';
import { createsOf } from '../support/ledger.ts';
import { eventually, freshNumber, NO_POLLS, PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';

/** In a fresh clone the example's packages are fetched and compiled first. */
const FIRST_BUILD_MS = 15 * 60_000;

export async function promisesOf(language: Language, title: string): Promise<void> {
  const missing = await whyUnavailable(language);
  if (missing !== undefined) console.warn(`skipped: ${missing}`);

  describe.skipIf(missing !== undefined)(title, () => {
    let program: string[];
    let world: PayoutWorld;
    const request = newRequest();
    let first: ExampleRun;
    // On a machine too busy for an SDK's own deadlines the same command is given again, as anybody would.
    const run = (asked: PayoutRequest) =>
      eventually(async () => {
        const ended = await runExample(program, world.workerEnvironment, asked);
        return /deadline.exceeded|timeout expired/i.test(ended.stderr) ? undefined : ended;
      });
    beforeAll(async () => {
      program = await buildExample(language);
      // The first key encrypts; nothing but a notification makes a payout look for its end.
      const keys = { PAYOUTS_ENCRYPTION_KEYS: [newKey('new'), newKey('old')].join(',') };
      world = await PayoutWorld.start({ env: { ...NO_POLLS, ...keys } });
      first = await run(request);
    }, FIRST_BUILD_MS);
    afterAll(() => world?.stop());

    test('a payout is started, notified, read and awaited', () => {
      const { code, stderr, state, result } = first;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(state).toMatch(/^[A-Z_]+: .+\.$/);
      expect(result()).toMatchObject({
        outcome: 'SUCCESS',
        received: { currency: 'CNY', amount: '100.00' },
        learnedBy: 'notification',
      });
    });

    test('what it sends is encrypted with the first key, and says where it comes from', async () => {
      const workflowId = payoutWorkflowId('default', request.partnerOrderId);
      const { events } = await world.client.workflow.getHandle(workflowId).fetchHistory();
      const start = events?.[0]?.workflowExecutionStartedEventAttributes;
      const signals = events?.map((event) => event.workflowExecutionSignaledEventAttributes?.input?.payloads);
      const sent = [start?.input?.payloads, ...(signals ?? [])].flatMap((payloads) => payloads ?? []);
      expect(sent.length).toBeGreaterThanOrEqual(2);
      expect(new Set(sent.map(keyOf))).toEqual(new Set(['new']));
      const { argument, memo } = await readStartEvent(
        world.client,
        workflowId,
        start?.firstExecutionRunId ?? '',
      );
      expect(argument).toEqual(request);
      expect(memo).toEqual({ rejectDuplicate: true, environment: 'test' });
    });

    test('run again after the end, it joins the same payout and pays nothing more', async () => {
      const again = await run(request);
      expect({ code: again.code, stderr: again.stderr }).toEqual({ code: 0, stderr: '' });
      expect(again.result()).toEqual(first.result());
      expect(createsOf(world, request)).toHaveLength(1);
    });

    test('bad input ends it with every bad field named', async () => {
      const { code, stderr } = await run({ ...newRequest(), originCurrency: 'usd', clientId: '' });
      expect(code).toBe(1);
      expect(stderr).toContain('clientId must not be empty');
      expect(stderr).toContain('originCurrency must be three uppercase letters');
    });
  });
}

/** What ends as soon as somebody looks. */
function newRequest(): PayoutRequest {
  return payoutRequest(freshNumber(), { platform: 'sim:success final=0s' });
}

/** The id of the key that encrypted it; nothing where it is plain. */
function keyOf({ metadata }: Payload): string | undefined {
  const text = (name: string) => Buffer.from(metadata?.[name] ?? []).toString();
  return text('encoding') === 'binary/encrypted' ? text('encryption-key-id') : undefined;
}
