import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findBrowser } from '../../scripts/setup/browser.ts';
import { fakeProgram, listener, temporaryFolder } from './fakes.ts';

const VERSION_OUTPUT = 'Chromium 150.0.0.0';

function places() {
  const folder = temporaryFolder();
  const env = { PATH: `${folder}/path:/usr/bin:/bin`, DURABLE_PAYOUTS_CACHE: `${folder}/cache` };
  return { folder, env };
}

describe('the browser of the tests', () => {
  test('CHROME_PATH takes precedence over PATH', async () => {
    const { folder, env } = places();
    const first = fakeProgram(join(folder, 'a'), VERSION_OUTPUT);
    const second = fakeProgram(join(folder, 'path', 'chromium'), VERSION_OUTPUT);
    const named = { ...env, CHROME_PATH: first };
    expect(await findBrowser({ env: named })).toEqual({ executablePath: first, env: {} });
    expect((await findBrowser({ env: { ...named, CHROME_PATH: '' } })).executablePath).toBe(second);
    expect((await findBrowser({ env })).executablePath).toBe(second);
  });

  test('skips a program that is not a browser, with a message', async () => {
    const { folder, env } = places();
    const wrong = fakeProgram(join(folder, 'a'), 'hello');
    const right = fakeProgram(join(folder, 'path', 'chromium'), VERSION_OUTPUT);
    const { said, say } = listener();
    expect((await findBrowser({ env: { ...env, CHROME_PATH: wrong }, say })).executablePath).toBe(right);
    expect(said).toEqual([`skipping ${wrong}: it is not Chromium`]);
  });

  test('an unpacked browser is reused with its own libraries', async () => {
    const { folder, env } = places();
    const cache = join(folder, 'cache', 'chromium-147.0.0');
    fakeProgram(join(cache, 'chromium'), VERSION_OUTPUT);
    // No browser of the machine may be found first.
    const alone = { ...env, PATH: '' };
    expect(await findBrowser({ env: alone })).toMatchObject({
      executablePath: join(cache, 'chromium'),
      env: { LD_LIBRARY_PATH: join(cache, 'lib') },
    });
  });
});
