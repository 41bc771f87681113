/** A real browser, for tests that look at pages and for the pictures in `docs/ui`. */
import { type Browser, chromium } from 'playwright-core';
import { findBrowser } from './setup/browser.mjs';

/** Without a sandbox, as containers need it, and without calls to its maker's servers. */
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The caller closes it. */
export async function launchBrowser(): Promise<Browser> {
  const { executablePath, env } = await findBrowser();
  return chromium.launch({ executablePath, args: ARGUMENTS, env: { ...definedOnly(process.env), ...env } });
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
