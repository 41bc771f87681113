/** The programs of docs/other-languages.md, as they are on the page, each as a process. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { ended } from '../support/cli.ts';
import { startApiServer, type TestApiServer } from '../support/http.ts';
import { createsOf } from '../support/ledger.ts';
import { PayoutWorld } from '../support/payout-world.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/other-languages.md'), 'utf8');
let world: PayoutWorld;
let service: TestApiServer;

beforeAll(async () => {
  world = await PayoutWorld.start();
  service = await startApiServer(world.client, { PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop')]) });
});
afterAll(async () => {
  await service.close();
  await world.stop();
});

/** Saves the program under its name, and returns the folder. */
function saved(name: string): string {
  const [, program = ''] = new RegExp(`^\`\`\`\\w+ ${name}\n([\\s\\S]+?)^\`\`\`$`, 'm').exec(page) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'payouts-http-'));
  writeFileSync(join(folder, name), program);
  return folder;
}

describe.each([
  ['python3', [], 'pay.py', ['--version']],
  ['go', ['run'], 'pay.go', ['version']],
  ['java', [], 'Pay.java', ['-version']],
])('%s', (tool, args, name, version) => {
  const isMissing = spawnSync(tool, version).status !== 0;
  if (isMissing) console.warn(`skipped: ${name} needs \`${tool}\` on PATH`);
  const folder = saved(name);
  const run = async (body: object) => {
    writeFileSync(join(folder, 'payout.json'), JSON.stringify(body));
    const key = as('shop').authorization.replace('Bearer ', '');
    const command = [...args, name, 'payout.json'];
    return ended(tool, command, { PAYOUTS_URL: service.url, KEY: key }, '', folder);
  };

  test.skipIf(isMissing)('pays once, however often it runs, and shows the result', async () => {
    const request = payoutRequest(`${newPartnerOrderId()} & more`, { platform: 'sim:success final=0s' });
    for (const turn of [1, 2]) {
      const { code, stdout, stderr } = await run(request);
      expect({ turn, code, stderr }).toEqual({ turn, code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({ result: { outcome: 'SUCCESS' } });
    }
    expect(createsOf(world, request)).toHaveLength(1);
  });

  test.skipIf(isMissing)('prints the problem of a request that is refused, and ends with 1', async () => {
    const { code, stderr } = await run({ ...payoutRequest(newPartnerOrderId()), clientId: '' });
    expect(code).toBe(1);
    expect(stderr).toContain('clientId must not be empty');
  });
});
