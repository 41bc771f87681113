/** The ids that callers choose: every way in refuses what may look like another id, and names the field. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { batchId, checkRows } from '../../src/contract/batch.ts';
import { appName } from '../../src/contract/fields.ts';
import { checkPayoutRequest } from '../../src/contract/payout-request.ts';
import { checkReceivingAccount } from '../../src/contract/receiving-account.ts';
import { namedSchemas } from '../../src/starters/api/openapi.ts';
import { payoutRequest } from '../support/requests.ts';

const RULE =
  'must be 1 to 64 printable ASCII characters, without quotes and backslashes, without spaces at the ends, and not "." or ".."';

const REFUSED: readonly (readonly [what: string, id: string])[] = [
  ['a Cyrillic letter', '\u0440ayday-1'],
  ['a Greek letter', 'p\u03b1yday-1'],
  ['a fullwidth letter', '\uff50ayday-1'],
  ['another digit', 'payday-\u0661'],
  ['a non-breaking hyphen', 'payday\u20111'],
  ['a non-breaking space', 'payday\u00a01'],
  ['a zero-width space', 'payday\u200b-1'],
  ['a zero-width joiner', 'payday\u200d-1'],
  ['a byte order mark', '\ufeffpayday-1'],
  ['a soft hyphen', 'pay\u00adday-1'],
  ['a direction override', '\u202epayday-1'],
  ['a tag character', 'payday-1\u{e0041}'],
  ['a variation selector', 'payday-1\ufe0f'],
  ['a decomposed letter', 'payde\u0301-1'],
  ['a composed letter', 'payd\u00e9-1'],
  ['a line break at the end', 'payday-1\n'],
  ['a control character', 'payday\u0007-1'],
  ['DEL', 'payday-1\u007f'],
  ['half of a surrogate pair', 'payday\ud800-1'],
  ['a space at the start', ' payday-1'],
  ['a space at the end', 'payday-1 '],
  ['only a space', ' '],
  ['nothing', ''],
  ['65 characters', 'p'.repeat(65)],
  ['a quote', "payday'1"],
  ['a double quote', 'payday"1'],
  ['a backtick', 'payday`1'],
  ['a backslash', 'payday\\1'],
];
const ACCEPTED = [
  'p',
  'payday-1',
  '2026/01/31:payday #1 (a+b)',
  '~!@#$%^&*()_+-={}[]|;:<>?,./',
  'p'.repeat(64),
];

const OPENING = { requestId: 'r-1', payerId: 'payer-1', currency: 'USD' };
const schemaOf = (file: string): object =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../schemas', file), 'utf8'));

describe('H155 ids that callers choose', () => {
  test.each(REFUSED)('rejects %s in partnerOrderId, requestId and rows', (_what, id) => {
    const body = { ...payoutRequest('p-1'), partnerOrderId: id };
    const error = { path: 'partnerOrderId', message: RULE };
    expect(checkPayoutRequest(body)).toEqual({ ok: false, errors: [error] });
    expect(checkRows('default', [payoutRequest('p-1'), body])).toEqual({
      ok: false,
      errors: [{ ...error, path: '1.partnerOrderId' }],
    });
    expect(checkReceivingAccount({ ...OPENING, requestId: id })).toEqual({
      ok: false,
      errors: [{ path: 'requestId', message: RULE }],
    });
  });

  test.each(REFUSED)('rejects %s in a batchId and in the name of an application', (_what, id) => {
    expect(batchId.safeParse(id).success).toBe(false);
    expect(appName.safeParse(id).success).toBe(false);
  });

  test.each(ACCEPTED)('accepts %s', (id) => {
    expect(checkPayoutRequest(payoutRequest(id)).ok).toBe(true);
    expect(checkReceivingAccount({ ...OPENING, requestId: id }).ok).toBe(true);
  });

  test('the JSON schemas and the OpenAPI document state the same rule', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const schemas = namedSchemas();
    for (const [schema, bodyOf] of [
      [schemaOf('payout-request.json'), payoutRequest],
      [schemas['PayoutRequest'], payoutRequest],
      [schemaOf('receiving-account-request.json'), (requestId: string) => ({ ...OPENING, requestId })],
    ] as const) {
      const accepts = ajv.compile(Object(schema));
      for (const id of ACCEPTED) expect(accepts(bodyOf(id)), id).toBe(true);
      for (const [what, id] of REFUSED) expect(accepts(bodyOf(id)), what).toBe(false);
      expect(JSON.stringify(schema)).toContain('1 to 64 printable ASCII characters');
    }
  });
});
