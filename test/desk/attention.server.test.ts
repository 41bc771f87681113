/** The inbox lists everything that needs attention, with what it means and what to do. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DeskStage, textOf } from '../support/desk.ts';
import { EventEndpoint, eventsFile } from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { newKey } from '../support/keys.ts';
import { reconcile } from '../support/reconciliation.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const FINDINGS_FRESH_MS = 15_000;

let stage: DeskStage;
let endpoint: EventEndpoint;
afterAll(async () => {
  await stage?.stop();
  await endpoint?.stop();
});
beforeAll(async () => {
  endpoint = await EventEndpoint.start();
  endpoint.answer = () => 410;
  const PAYOUTS_EVENTS_FILE = eventsFile([{ url: endpoint.url }]);
  stage = await DeskStage.start({ env: { PAYOUTS_FOLLOW_UP: '1s,1h', PAYOUTS_EVENTS_FILE } });
});

/** The row of this name, once the inbox has it. */
async function cardText(heading: string): Promise<string> {
  await stage.world.pass(FINDINGS_FRESH_MS);
  const page = await stage.signedIn();
  const card = page
    .getByRole('region', { name: 'Flagged' })
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name: heading }) });
  return eventually(async () => {
    await page.goto('/desk');
    if ((await card.count()) === 0) return undefined;
    // Each reason is one line, which opens to what it means.
    for (const line of await card.first().locator('summary').all()) await line.click();
    return textOf(card.first());
  });
}

describe('what needs attention', () => {
  test('a payout that cannot be started again', async () => {
    const { partnerOrderId } = payoutRequest(newPartnerOrderId());
    const stranger = stage.world.speaking(newKey('k9'));
    const handle = await stranger.workflow.start('payout', {
      taskQueue: 'payouts',
      workflowId: `payout:default:${partnerOrderId}`,
      args: [payoutRequest(partnerOrderId)],
      memo: { environment: 'test' },
    });
    await handle.terminate('by a test');
    await eventually(async () => (await reconcile(stage.world)).notReconciled.length > 0 || undefined);
    expect(await cardText(`Payout ${partnerOrderId}`)).toMatch(
      /Not reconciled\. Cannot be read[\s\S]*Do what the message says/,
    );
  });

  test('money that comes back after the end of a payout', async () => {
    const { world } = stage;
    const ref = await world.pay('split splits=3');
    await world.payouts.result(ref);
    const refund = { index: 1, refund: true, refundReason: 'account closed' };
    world.simulator.control.changeOrder(ref.partnerOrderId, { splits: [refund] });
    const followUp = world.client.workflow.getHandle(`payout-follow-up:default:${ref.partnerOrderId}`);
    await eventually(async () => {
      await reconcile(world);
      const described = await followUp.describe().catch(() => undefined);
      return described?.searchAttributes['PayoutNeedsAttention']?.[0] === true || undefined;
    });
    expect(await cardText(`Follow-up of payout ${ref.partnerOrderId}`)).toMatch(
      /Money returned\. .* was returned[\s\S]*Check your balance, then start a new payout\.[\s\S]*Acknowledge/,
    );
    const page = await stage.signedIn();
    await page.getByRole('button', { name: `Acknowledge the flags of ${ref.partnerOrderId}` }).click();
    await page
      .getByRole('status')
      .filter({ hasText: `Acknowledged the flags of ${ref.partnerOrderId}` })
      .waitFor();
    await page.waitForURL(/\/desk#attention$/);
    await eventually(async () => {
      await page.goto('/desk');
      return (
        !(await textOf(page.getByRole('main'))).includes(`Follow-up of payout ${ref.partnerOrderId}`) ||
        undefined
      );
    });
  });

  test('a payout whose order waits for material', async () => {
    const { world } = stage;
    const ref = await world.pay('returned');
    await world.until(ref, ({ needsAttention }) => needsAttention);
    expect(await cardText(`Payout ${ref.partnerOrderId}`)).toMatch(
      /Awaiting material\.[\s\S]*Give the provider the material/,
    );
  });

  test('an endpoint that has disabled itself', async () => {
    const { world } = stage;
    await world.payouts.result(await world.pay('success final=0s'));
    expect(await cardText('Endpoint shop of application default')).toMatch(
      /Endpoint disabled\.[\s\S]*it returned 410\..* events? waits?[\s\S]*“Enable” on the Events page/,
    );
  });

  test('what cannot be read, because no worker answers', async () => {
    const { world } = stage;
    const flagged = await world.pay('success', { approval: 'required' });
    await world.until(flagged, ({ phase }) => phase === 'AWAITING_APPROVAL');
    const page = await stage.signedIn();
    const approvals = page.getByRole('region', { name: 'Awaiting approval' });
    await eventually(async () => {
      await page.goto('/desk');
      return (await textOf(approvals)).includes(flagged.partnerOrderId) || undefined;
    });
    await world.stopWorkers();
    // A state may be a second old.
    const text = await eventually(async () => {
      await page.goto('/desk');
      const shown = await textOf(approvals);
      return shown.includes('could not be read now') ? shown : undefined;
    });
    expect(text).toMatch(new RegExp(`a worker does not respond:\\s+${flagged.partnerOrderId}`));
    await page.getByRole('link', { name: flagged.partnerOrderId }).first().click();
    await page.getByRole('alert').filter({ hasText: 'a worker or the provider does not respond' }).waitFor();
  });

  test('an application token that the provider refuses, also in the figures of today', async () => {
    const { world } = stage;
    // They may have stopped.
    await world.stopWorkers();
    await world.client.workflow.getHandle('token:default:application').terminate('by a test');
    await world.startWorkers({ PAYMENTS_APP_SECRET: 'another-secret' });
    expect(await cardText('Application token of application default')).toMatch(
      /Refused\.[\s\S]*Check PAYMENTS_APP_ID/,
    );
    const page = await stage.signedIn();
    await eventually(async () => {
      await page.goto('/desk/today');
      const text = await textOf(page.getByRole('main'));
      return /Application default\s+The first token is being fetched\./.test(text) || undefined;
    });
  });
});
