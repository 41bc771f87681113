/** Random requests from everything that the contract allows. */
import { chance, pick, type Random, whole } from '../../simulator/runtime.ts';

const LETTERS = 'ABCXYZabcxyz0189-_.:+ é中😀<&';
const ID_LETTERS = 'ABCDEFXYZabcdefxyz0123456789-_';

/** 1 to `most` UTF-16 units without leading or trailing whitespace; sometimes exactly `most`. */
export function drawText(random: Random, most: number): string {
  const length = chance(random, 0.1) ? most : whole(random, 1, Math.min(most, 16));
  let text = '';
  while (text.length < length) text += pick(random, [...LETTERS]) ?? 'x';
  return text.slice(0, length).replaceAll(/^\s|\s$|\p{Cs}/gu, 'x');
}

/** Long enough to be unique among inputs. */
export function drawId(random: Random, most = 64): string {
  const length = chance(random, 0.1) ? most : whole(random, 16, 24);
  return Array.from({ length }, () => pick(random, [...ID_LETTERS]) ?? 'x').join('');
}

/** The number of an account or of an identity card, or the code of a bank. */
function drawCode(random: Random): string {
  const text = Array.from({ length: whole(random, 4, 63) }, () => pick(random, [...'ABXYZ0123456789-']));
  return `${text.join('')}${whole(random, 0, 9)}`;
}

export function drawAmount(random: Random): string {
  if (chance(random, 0.3))
    return pick(random, ['0.01', '1', '1.5', '100.00', '9999999999999999.99', '0001.10']);
  const cents = pick(random, ['', '.5', '.05', '.99']);
  return `${whole(random, 1, 9)}${whole(random, 0, 999_999)}${cents}`;
}

const money = (random: Random, currency: string) => ({ currency, amount: drawAmount(random) });
const perhaps = <T>(random: Random, draw: () => T): T | undefined =>
  chance(random, 0.4) ? draw() : undefined;
const CURRENCIES = ['USD', 'EUR', 'GBP', 'HKD'] as const;

export function drawPayout(random: Random, app?: string): Record<string, unknown> {
  const origin = pick(random, CURRENCIES);
  return {
    app: app ?? perhaps(random, () => 'default'),
    openId: perhaps(random, () => drawText(random, 128)),
    clientId: drawId(random),
    payerId: drawId(random),
    partnerOrderId: drawId(random),
    type: pick(random, ['WITHDRAW', 'SUPPLIER']),
    instructedAmount: money(random, 'CNY'),
    originCurrency: origin,
    targetCurrency: 'CNY',
    remittancePurposeCode: drawText(random, 64),
    platform: perhaps(random, () => drawText(random, 256)),
    receiver: {
      bankCountry: 'CN',
      bankName: drawText(random, 256),
      bankAccountCurrency: 'CNY',
      bankAccountNumber: drawCode(random),
      bankAccountName: drawText(random, 256),
      bankCode: perhaps(random, () => drawCode(random)),
      bankBranchName: perhaps(random, () => drawText(random, 256)),
      province: perhaps(random, () => drawText(random, 256)),
      city: perhaps(random, () => drawText(random, 256)),
      idCardNumber: drawCode(random),
      cardHoldType: drawText(random, 32),
    },
    limits: perhaps(random, () => ({
      maxFee: perhaps(random, () => money(random, origin)),
      minRate: perhaps(random, () => pick(random, ['7', '7.1234', '0.000001', '999999999.999999999999'])),
      maxPay: perhaps(random, () => money(random, origin)),
    })),
    approval: perhaps(random, () => pick(random, ['none', 'required'])),
    notBefore: perhaps(random, () => pick(random, ['2026-01-31T08:00:00Z', '2030-12-31T23:59:59.999+14:00'])),
    metadata: perhaps(random, () => drawMetadata(random)),
  };
}

function drawMetadata(random: Random): Record<string, string> {
  const pairs = Array.from({ length: pick(random, [0, 1, 2, 20]) }, () => [
    chance(random, 0.1) ? pick(random, ['constructor', 'toString', '7']) : drawId(random, 40),
    chance(random, 0.2) ? '' : drawText(random, 500),
  ]);
  return Object.fromEntries(pairs);
}

export function drawOpening(random: Random): Record<string, unknown> {
  return {
    app: perhaps(random, () => 'default'),
    openId: perhaps(random, () => drawText(random, 128)),
    requestId: drawId(random),
    payerId: drawId(random),
    currency: pick(random, CURRENCIES),
    bankLocation: perhaps(random, () => 'Hong Kong'),
    usages: perhaps(random, () => Array.from({ length: whole(random, 1, 3) }, () => drawText(random, 255))),
    purposeCode: perhaps(random, () => drawText(random, 64)),
    monthSaleVolume: perhaps(random, () => drawText(random, 64)),
  };
}

/** As the provider may write it, in any spelling of the spec. */
export function drawNotification(random: Random): Record<string, unknown> {
  const numbers = {
    [pick(random, ['order_id', 'orderId'])]: perhaps(random, () => drawId(random)),
    [pick(random, ['partner_order_id', 'partnerOrderId', 'outOrderId', 'out_order_id'])]: drawId(random),
    status: perhaps(random, () => pick(random, ['SUCCESS', 'FAILED', 'PROCESSING', 'PARTIAL_SUCCESS'])),
  };
  const place = whole(random, 0, 3);
  if (place === 0) return { ...numbers, event: 'payout', at: whole(random, 1, 2_000_000_000) };
  if (place === 1) return { code: 0, data: numbers };
  return place === 2
    ? { receiver: numbers, status: 'SUCCESS' }
    : { data: { receiver: numbers, amount: '1.00' } };
}
