/** A real browser for tests that look at pages. */
import type { Page } from 'playwright-core';
import { PATIENCE_MS } from './patience.ts';

export { launchBrowser } from '../../scripts/browser.ts';

/** A page with timeouts long enough for any machine. */
export async function patient(opening: Promise<Page>): Promise<Page> {
  const page = await opening;
  page.setDefaultTimeout(PATIENCE_MS);
  return page;
}
