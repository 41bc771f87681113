/** Launches a real browser for page tests and for the screenshots in `docs/ui`. */
import { type Browser, chromium } from 'playwright-core';
import { findBrowser } from './setup/browser.ts';

/** No sandbox, because containers cannot run one, and no calls to the vendor's servers. */
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

/** Long, because a browser starts slowly on a busy machine: it ends only what hangs. */
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
