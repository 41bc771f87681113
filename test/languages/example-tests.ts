/** The tests of the examples in other languages, each with its own Temporal SDK and its own codec. */
import type { Payload } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildExample, type Language, whyUnavailable } from '../../scripts/setup/examples.ts';
import { payoutWorkflowId } from '../../src/contract/ids.ts';
import type { PayoutRequest } from '../../src/contract/payout-request.ts';
import { readStartEvent } from '../../src/temporal/histories.ts';
import { eventually } from '../support/eventually.ts';
import { type ExampleRun, runExample } from '../support/examples.ts';
import { newKey } from '../support/keys.ts';
import { createsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { NO_POLLS, newPartnerOrderId } from '../support/test-world.ts';

/** In a fresh clone, the example's packages are downloaded and compiled first. */
const FIRST_BUILD_MS = 15 * 60_000;

export async function testExample(language: Language, title: string): Promise<void> {
  const missing = await whyUnavailable(language);
  if (missing !== undefined) console.warn(`skipped: ${missing}`);

  describe.skipIf(missing !== undefined)(title, () => {
    let program: string[];
    let world: PayoutWorld;
    const request = newRequest();
    let first: ExampleRun;
    // On a machine too slow for an SDK's own deadlines, the same command runs again, as a person would run it.
    const run = (asked: PayoutRequest) =>
      eventually(async () => {
        const ended = await runExample(program, world.workerEnvironment, asked);
        return /deadline.exceeded|timeout expired/i.test(ended.stderr) ? undefined : ended;
      });
    beforeAll(async () => {
      program = await buildExample(language);
      // The first key encrypts. Only a notification makes a payout query its order.
      const keys = { PAYOUTS_ENCRYPTION_KEYS: [newKey('new'), newKey('old')].join(',') };
      world = await PayoutWorld.start({ env: { ...NO_POLLS, ...keys } });
      first = await run(request);
    }, FIRST_BUILD_MS);
    afterAll(() => world?.stop());

    test('starts a payout, notifies it, reads it and waits for its result', () => {
      const { code, stderr, state, result } = first;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(state).toMatch(/^[A-Z_]+: .+\.$/);
      expect(result()).toMatchObject({
        outcome: 'SUCCESS',
        received: { currency: 'CNY', amount: '100.00' },
        learnedBy: 'notification',
      });
    });

    test('encrypts with the first key, and records its origin', async () => {
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

    test('joins the same payout when it runs again, and pays nothing more', async () => {
      const again = await run(request);
      expect({ code: again.code, stderr: again.stderr }).toEqual({ code: 0, stderr: '' });
      expect(again.result()).toEqual(first.result());
      expect(createsOf(world, request)).toHaveLength(1);
    });

    test('names every bad field of bad input', async () => {
      const { code, stderr } = await run({ ...newRequest(), originCurrency: 'usd', clientId: '' });
      expect(code).toBe(1);
      expect(stderr).toContain('clientId must not be empty');
      expect(stderr).toContain('originCurrency must be three uppercase letters');
    });
  });
}

/** A payout that ends at its first query. */
function newRequest(): PayoutRequest {
  return payoutRequest(newPartnerOrderId(), { platform: 'sim:success final=0s' });
}

/** The id of the key that encrypted the payload; undefined for a plain payload. */
function keyOf({ metadata }: Payload): string | undefined {
  const text = (name: string) => Buffer.from(metadata?.[name] ?? []).toString();
  return text('encoding') === 'binary/encrypted' ? text('encryption-key-id') : undefined;
}
