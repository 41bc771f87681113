/** A real browser for tests that look at pages. */
export { launchBrowser } from '../../scripts/browser.ts';
