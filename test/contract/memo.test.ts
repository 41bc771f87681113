/** Memos: what a start tells its workflow, and no value that stands in another field. */
import { describe, expect, test } from 'vitest';
import { listedIn } from '../../src/client/lists.ts';
import { CREATE_SENT, saysCreateSent, starterIn, startFactsIn, startMemo } from '../../src/contract/memo.ts';
import { payoutRequestSchema } from '../../src/contract/payout-request.ts';
import { memoOfRequest } from '../../src/domain/listed-payout.ts';
import { provesNewId } from '../../src/domain/new-id.ts';
import { payoutRequest } from '../support/requests.ts';

const AT = '2026-11-28T08:00:00.000Z';
const request = payoutRequestSchema.parse(payoutRequest('1', { metadata: { startedBy: 'nobody' } }));
const memo = startMemo({
  environment: 'test',
  rejectDuplicate: AT,
  startedBy: 'shop',
  ...memoOfRequest(request),
});

test('a start tells its facts in one field', () => {
  expect(Object.keys(memo)).toEqual(['start']);
  expect(startFactsIn(memo)).toMatchObject({ environment: 'test', rejectDuplicate: AT });
  expect(starterIn(memo)).toBe('shop');
  expect(listedIn(memo)).toMatchObject({ startedBy: 'shop', metadata: { startedBy: 'nobody' } });
});

test('a program in another language may write environment and rejectDuplicate as fields', () => {
  const flat = { environment: 'test', rejectDuplicate: true, startedBy: 'shop' };
  expect(startFactsIn(flat)).toEqual({ environment: 'test', rejectDuplicate: true });
  expect(starterIn(flat)).toBeUndefined();
});

describe('H336 in another field of the memo', () => {
  const proves = (forged: Record<string, unknown>) =>
    provesNewId(startFactsIn(forged)['rejectDuplicate'], Date.parse(AT));
  const values: unknown[] = [
    ...Object.values(memo),
    ...Object.values(CREATE_SENT),
    request,
    request.metadata,
    AT,
  ];

  test.each(values.map((value) => [value]))('%j names no starter, and promises no new id', (value) => {
    expect(starterIn({ startedBy: value })).toBeUndefined();
    expect(saysCreateSent({ createSent: value })).toBe(value === CREATE_SENT.createSent);
    if (value === memo.start) return;
    expect(proves({ start: value })).toBe(false);
    if (value !== AT) expect(proves({ rejectDuplicate: value })).toBe(false);
  });

  test('an empty name is none, because it would have no limits', () => {
    expect(starterIn(startMemo({ startedBy: '' }))).toBeUndefined();
  });
});
