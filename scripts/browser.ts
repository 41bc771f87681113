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

/** Only ends what hangs: a browser on a busy machine takes its time. */
const LAUNCH_LIMIT_MS = 180_000;

/** The caller closes it. */
export async function launchBrowser(): Promise<Browser> {
  const { executablePath, env } = await findBrowser();
  return chromium.launch({
    executablePath,
    args: ARGUMENTS,
    env: { ...definedOnly(process.env), ...env },
    timeout: LAUNCH_LIMIT_MS,
  });
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
