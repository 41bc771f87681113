/** The page of the day: its figures, its bars, and how much it reads. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DeskStage, textOf } from '../support/desk.ts';
import { eventually } from '../support/eventually.ts';

const FIGURES_FRESH_MS = 15_000;

describe('today', () => {
  let stage: DeskStage;
  beforeAll(async () => {
    stage = await DeskStage.start();
  });
  afterAll(() => stage?.stop());

  test('H374 shows amounts by outcome, times, rate-limit use and tokens', async () => {
    const { world } = stage;
    let paidOn = '';
    const page = await stage.signedIn();
    const main = page.getByRole('main');
    // Visibility lags.
    const text = await eventually(async () => {
      const day = new Date(world.clock.wallMs()).toISOString().slice(0, 10);
      // At midnight, the page begins anew.
      if (day !== paidOn)
        for (const scenario of ['success', 'partial splits=4 failed=1', 'rejected'])
          await world.payouts.result(await world.pay(scenario));
      paidOn = day;
      await world.pass(FIGURES_FRESH_MS);
      await page.goto('/desk/today');
      const shown = await textOf(main);
      return ['Paid\\s+1\\s+100\\.00 CNY', 'Paid in part\\s+1', 'Failed\\s+1'].every((row) =>
        RegExp(row).test(shown),
      )
        ? shown
        : undefined;
    });
    // The provider rejected it before it had splits.
    expect(text).toMatch(/Failed\s+1\s+0\.00 CNY\s+100\.00 CNY[\s\S]*Not paid\s+0\s+–/);
    expect(text).toMatch(/Paid in part\s+1\s+75\.00 CNY\s+25\.00 CNY/);
    expect(text).toMatch(
      /Received today\s+175\.00 CNY\s+Yesterday by this time: –\s+Not received today\s+125\.00 CNY/,
    );
    expect(text).toMatch(/Half of the orders finished within/);
    expect(text).toMatch(/default\s+\S+( of 20)?\s/);
    expect(text).toMatch(/Application default\s+Valid; renewed automatically\./);
    for (const name of ['Received today', 'Time to final status', 'Rate-limit use', 'Token health'])
      expect(await page.getByRole('heading', { name, exact: true }).count()).toBe(1);
    expect(await page.locator('svg.bar').count()).toBeGreaterThan(5);
  });

  test('shows no figures to a key that is limited to clients', async () => {
    const page = await stage.signedIn('scoped');
    await page.goto('/desk/today');
    await page.getByText('Your key is limited to clients').waitFor();
  });
});
