import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { launchBrowser, patient } from '../support/browser.ts';

test('the browser of the tests shows a page, runs its script and clicks', async () => {
  const page = `<button onclick="document.title = 'clicked'">go</button>`;
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(page);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const tab = await patient(browser.newPage());
  const address = server.address();
  await tab.goto(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
  await tab.click('button');
  expect(await tab.title()).toBe('clicked');
});
