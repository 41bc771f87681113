/** The pages escape what they show because of how they are written: these rules keep it so. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ATTENTION } from '../../src/contract/attention-codes.ts';
import { REASON_MEANINGS } from '../../src/contract/meanings.ts';
import type { Money } from '../../src/contract/money.ts';
import { checkPayoutRequest } from '../../src/contract/payout-request.ts';
import { PROBLEMS } from '../../src/contract/problems.ts';
import { facts, html, link, money, onTheDesk, sentence, table } from '../../src/desk/html.ts';
import { comparison } from '../../src/desk/review.ts';
import { approveUntil } from '../../src/desk/terms.ts';
import { changes } from '../../src/desk/today.ts';
import { OTHER_ID } from '../../src/domain/payout-order.ts';
import { payoutRequest } from '../support/requests.ts';

const FOLDER = join(import.meta.dirname, '../../src/desk');
const sources = readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')] as const);
const MARKUP = `<b onclick='x'>"&`;
const ESCAPED = '&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;';

describe('the templates of the desk', () => {
  test('quote every attribute', () => {
    const unquoted = sources.filter(([, text]) => /\s[a-z-]+=\$\{/.test(text)).map(([name]) => name);
    expect(unquoted).toEqual([]);
  });

  test('take no markup as it is', () => {
    const unescaped = sources.filter(([, text]) => /\braw\b/.test(text)).map(([name]) => name);
    expect(unescaped).toEqual([]);
  });

  test('have no inline scripts, styles or handlers', () => {
    const active = sources.filter(([, text]) =>
      /<script(?! src="\/desk\/desk\.js" defer><\/script>)|<style[ >]|\sstyle="|\son[a-z]+="/.test(text),
    );
    expect(active.map(([name]) => name)).toEqual([]);
  });

  test('escape text, attributes, tables and facts', () => {
    for (const written of [
      html`<p>${MARKUP}</p>`,
      html`<p title="${MARKUP}"></p>`,
      table({ caption: 'c', head: [MARKUP], rows: [[MARKUP, [MARKUP]]] }),
      facts([[MARKUP, MARKUP]]),
    ]) {
      expect(written.toString()).toContain(ESCAPED);
      expect(written.toString()).not.toContain('<b ');
    }
  });

  test('H309 show amounts with thousands separators, exactly', () => {
    const shown = (amount: string) => String(money({ currency: 'CNY', amount })).replace(/<[^>]+>/g, '');
    // As a number, it is 10,000,000,000,000,000.
    expect(shown('9999999999999999.99')).toBe('9,999,999,999,999,999.99 CNY');
    expect(shown('123456789012345678901.05')).toBe('123,456,789,012,345,678,901.05 CNY');
    expect(shown('10.005')).toBe('10.005 CNY');
    expect(shown('<b>')).toBe('&lt;b&gt; CNY');
    expect(sentence('Paid 60000.10 CNY; 1.00 CNY failed at 7.12345.')).toBe(
      'Paid 60,000.10 CNY; 1.00 CNY failed at 7.12345.',
    );
  });

  test('name no command line', () => {
    const tables = [...Object.values(ATTENTION), REASON_MEANINGS, PROBLEMS];
    const texts = tables
      .flatMap((table) => Object.values(table))
      .flatMap(({ meaning, action }) => [meaning, action]);
    expect(texts.length).toBeGreaterThan(50);
    expect(texts.map(onTheDesk).filter((text) => /npm run|--[a-z]/.test(text))).toEqual([]);
    expect(onTheDesk(ATTENTION.payout.NEEDS_REVIEW.action)).toBe(
      'Ask the provider for the order by the ID. Then choose “Review”.',
    );
  });

  test('compare amounts with those of the day before', () => {
    const cny = (amount: string) => [{ currency: 'CNY', amount }];
    const shown = (today: readonly Money[], yesterday: readonly Money[]) =>
      changes(today, yesterday)
        .toString()
        .replace(/<[^>]+>/g, '')
        .trim();
    expect(shown(cny('112.50'), cny('100.00'))).toBe('+12.5 %');
    expect(shown([], cny('100.00'))).toBe('-100.0 %');
    expect(shown(cny('100.00'), [])).toBe('');
    const usd = { currency: 'USD', amount: '9999999999999999.99' };
    expect(shown([...cny('1.00'), usd], [...cny('2.00'), usd])).toBe('-50.0 % CNY 0.0 % USD');
  });

  test('say in words what our texts for operators say in terms of the API', () => {
    const review =
      'An operator must decide: a create call was sent, or may have been, and the provider knows no order.';
    expect(sentence(review)).toBe(
      'Somebody must decide: the payment may have been sent, but the provider has no record of it.',
    );
    expect(sentence('The order is final: PARTIAL_SUCCESS. Its splits are being fetched.')).toMatch(
      /^The provider has finished the payment: paid in part\./,
    );
    // Whoever wrote it is quoted.
    expect(sentence('refused by olga: the order exists, and is FAILED')).toBe(
      'refused by olga: the order exists, and is FAILED',
    );
    // They are still what our sources say.
    const ours = ['workflows/payout/confirm.ts', 'workflows/payout/create.ts', 'workflows/payout/run.ts'];
    const texts = [...ours, 'domain/payout-state.ts', 'client/timeline.ts']
      .map((name) => readFileSync(join(FOLDER, '..', name), 'utf8'))
      .join('\n');
    for (const text of [
      ...['a create call was sent, or may have been, and the provider knows no order'],
      ...['a create call was sent, and its outcome is unknown: the order may exist'],
      ...['but a create call of unknown outcome was sent', 'no create call is sent'],
      ...['A create call was already sent', 'An operator must decide', 'Find out whether the order exists'],
      ...['Waiting for notBefore.', 'The order exists with status', 'Asked whether the order exists'],
      ...['The provider knows no order.', 'Order may have been sent', 'Order read'],
    ])
      expect(texts).toContain(text);
  });

  test('mark a deadline that is near', () => {
    const until = (hours: number) => approveUntil(new Date(hours * 3_600_000).toISOString(), 0).toString();
    expect(until(1.9)).toMatch(/class="soon">until <time[^>]*>1 Jan, 01:54 UTC</);
    expect(until(2.1)).not.toContain('soon');
  });

  test('encode the parts of a link', () => {
    expect(link('/desk/payout', { app: '', partnerOrderId: 'a&b="/../' })).toBe(
      '/desk/payout?partnerOrderId=a%26b%3D%22%2F..%2F',
    );
  });
});

test('an order with another id is compared, and the id is not named', () => {
  const checked = checkPayoutRequest(payoutRequest('p-own'), ['CNY']);
  if (!checked.ok) throw new Error('the request is valid');
  const message = `order PO1 is not this payout's: ${OTHER_ID}`;
  const reasons = [{ code: 'ORDER_DIFFERS_FROM_REQUEST' as const, message }];
  const state = { phase: 'NEEDS_REVIEW' as const, sentence: '', nextStep: '', needsAttention: true, reasons };
  expect(String(comparison(state, checked.value))).toMatch(/ID<.*p-own<.*Differs<.*another ID</s);
});
