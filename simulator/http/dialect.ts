/** How this provider writes true answers, where the spec leaves it open: numbers, echoes and ids. */
import { isLosslessNumber, LosslessNumber } from 'lossless-json';
import { isJsonObject } from '../json.ts';
import type { Settings } from '../settings.ts';

type Dials = Pick<Settings, 'numberStyle' | 'echo' | 'tradeOrderId'>;
type Writer = (value: unknown, key: string, dials: Dials) => unknown;

const IDS = ['outOrderId', 'partner_order_id', 'client_id'];
const BENEFICIARY = ['bankAccountNumber', 'bankAccountName', 'bankName'];
const AMOUNT = /^(?:amount|balance|\w+_(?:amount|balance))$/;

export function inDialect(data: unknown, dials: Dials): unknown {
  const isPlain = dials.numberStyle === 'plain' && dials.echo === 'exact' && dials.tradeOrderId === 'same';
  return isPlain ? data : written(data, '', dials);
}

function written(value: unknown, key: string, dials: Dials): unknown {
  if (Array.isArray(value)) return value.map((inner) => written(inner, key, dials));
  if (isLosslessNumber(value) || !isJsonObject(value))
    return WRITERS.reduce((text, write) => write(text, key, dials), value);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, written(inner, name, dials)]),
  );
}

const WRITERS: readonly Writer[] = [
  (value, key, { numberStyle }) =>
    numberStyle === 'exponent' && AMOUNT.test(key) && isLosslessNumber(value)
      ? new LosslessNumber(withExponent(value.value))
      : value,
  (value, _key, { numberStyle }) =>
    numberStyle === 'text' && (isLosslessNumber(value) || typeof value === 'number') ? String(value) : value,
  (value, key, { echo }) => {
    if (typeof value !== 'string') return value;
    if (echo === 'masked' && BENEFICIARY.includes(key)) return masked(value);
    const isNormalized = echo === 'normalized' && [...IDS, ...BENEFICIARY].includes(key);
    return isNormalized ? value.toUpperCase().replace(/[-_. ]/g, '') : value;
  },
  (value, key, { tradeOrderId }) =>
    tradeOrderId === 'own' && key === 'order_id' && typeof value === 'string' ? `T-${value}` : value,
];

/** As Java writes a double: `1.0E7`. */
function withExponent(decimal: string): string {
  const [whole = '0', fraction = ''] = decimal.split('.');
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, '').replace(/0+$/, '');
  if (digits === '') return '0.0';
  const exponent =
    whole === '0' ? -(fraction.length - fraction.replace(/^0+/, '').length) - 1 : whole.length - 1;
  return `${digits.slice(0, 1)}.${digits.slice(1) || '0'}E${exponent}`;
}

/** Of a long text, four characters at each end are visible; of a short one, the first. */
function masked(text: string): string {
  return text.length > 8 ? `${text.slice(0, 4)}****${text.slice(-4)}` : `${text.slice(0, 1)}**`;
}
