/** Takes screenshots with a browser. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, FrameLocator, Page } from 'playwright-core';

const FOLDER = join(import.meta.dirname, '../../docs/ui');
const WIDE = { width: 1360, height: 900 };

export interface Camera {
  page: Page;
  /** Takes `height` CSS pixels of the page, from `top` on. */
  take(name: string, height: number, top?: number): Promise<void>;
}

export async function camera(
  browser: Browser,
  storage: Record<string, string>,
  options: BrowserContextOptions = {},
): Promise<Camera> {
  const context = await browser.newContext({
    ...{ viewport: WIDE, timezoneId: 'UTC', locale: 'en-GB' },
    ...options,
  });
  await context.addInitScript(
    `for (const [k, v] of Object.entries(${JSON.stringify(storage)})) if (localStorage.getItem(k) === null) localStorage.setItem(k, v);`,
  );
  const page = await context.newPage();
  const { width } = page.viewportSize() ?? WIDE;
  return {
    page,
    async take(name, height, top = 0) {
      const clip = { x: 0, y: top, width, height };
      await page.setViewportSize({ width, height: top + height });
      await page.waitForTimeout(SETTLES_MS);
      writeFileSync(join(FOLDER, `${name}.png`), await page.screenshot({ clip, animations: 'disabled' }));
      await page.setViewportSize({ width, height: WIDE.height });
    },
  };
}

/** Fonts and icons have no event to wait for. */
const SETTLES_MS = 1_500;

/** The UI renders the Markdown of current details in its own frame, the last one of the page. */
export function currentDetails(page: Page): FrameLocator {
  return page.locator('iframe').last().contentFrame();
}
