import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cli } from '../support/cli.ts';
import { payoutRequest } from '../support/requests.ts';

const RULE =
  'must be 1 to 64 printable ASCII characters, without quotes and backslashes, without spaces at the ends, and not "." or ".."';

test('the CLI names the field of a file, and rejects such an id before it connects', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'payouts-ids-')), 'payout.json');
  writeFileSync(file, JSON.stringify(payoutRequest('\u0440ayday-1')));
  const environment = { TEMPORAL_ADDRESS: '127.0.0.1:9' };
  const start = await cli(environment, ['start', file]);
  expect([start.code, start.stderr]).toEqual([2, expect.stringContaining(`partnerOrderId ${RULE}`)]);
  for (const args of [['status'], ['approve', '--by', 'olga'], ['account', 'status']]) {
    const [verb = '', ...rest] = args;
    const id = '\u0440ayday-1';
    const given = verb === 'account' ? [verb, ...rest, id] : [verb, id, ...rest];
    const refused = await cli(environment, given);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(`for argument 'id'. It ${RULE}`),
    ]);
  }
});
