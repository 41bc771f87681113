/** A client that accepts an end only when result, detail and its own request agree: the checks of docs/simulator.md. */
import { valueAt } from './simulator-client.ts';

export interface AcceptedEnd {
  status: string;
  orderId: string;
  /** One line for each payment: id, status, minor units, whether it was returned. */
  splits: string[];
}

interface Told {
  status: string;
  orderId: string;
  received: bigint;
  failed: bigint;
  splits: unknown[];
}

const FINAL = ['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED'];

/** The end according to the head and sums of one answer, before the comparison with another answer. */
export function reportedEnd(json: unknown, partnerOrderId: string, clientId = 'client-1'): Told | undefined {
  const field = (name: string) => valueAt(json, `data.${name}`);
  const [status, orderId] = [String(field('status')), field('order_id')];
  const isAbout = field('partner_order_id') === partnerOrderId && field('client_id') === clientId;
  const isComplete = String(field('complete_flag')) === 'true' && field('target_currency') === 'CNY';
  if (!isAbout || !isComplete || !FINAL.includes(status) || typeof orderId !== 'string') return undefined;
  const received = minorOf(field('receive_target_amount'));
  const failed = minorOf(field('failed_target_amount'));
  if (received === undefined || failed === undefined) return undefined;
  return { status, orderId, received, failed, splits: listOf(field('pay_distribute_detail')) };
}

export function acceptedEnd(
  result: Told | undefined,
  detail: Told | undefined,
  target?: string,
): AcceptedEnd | undefined {
  if (!result || !detail || !agree(result, detail)) return undefined;
  const { status, orderId, splits } = detail;
  const lines = splits.map(splitLine);
  if (lines.includes(undefined)) return undefined;
  const accepted = { status, orderId, splits: lines.map(String).sort() };
  if (splits.length === 0) return status === 'FAILED' && result.received === 0n ? accepted : undefined;
  const [received, failed] = [sumOf(splits, 'SUCCESS'), sumOf(splits, 'FAILED')];
  const fits = received === result.received && failed === result.failed && status === statusOf(splits);
  return fits && (target === undefined || received + failed === minorOf(target)) ? accepted : undefined;
}

function agree(result: Told, detail: Told): boolean {
  return (
    result.orderId === detail.orderId &&
    result.status === detail.status &&
    result.received === detail.received &&
    result.failed === detail.failed
  );
}

function statusOf(splits: readonly unknown[]): string {
  const succeeded = splits.filter((split) => valueAt(split, 'status') === 'SUCCESS').length;
  if (succeeded === splits.length) return 'SUCCESS';
  return succeeded === 0 ? 'FAILED' : 'PARTIAL_SUCCESS';
}

function sumOf(splits: readonly unknown[], status: string): bigint {
  return splits
    .filter((split) => valueAt(split, 'status') === status)
    .reduce<bigint>((sum, split) => sum + (minorOf(valueAt(split, 'target_amount')) ?? 0n), 0n);
}

/** Lenient: ignores missing fields that no sum needs. */
function splitLine(split: unknown): string | undefined {
  const [id, status] = [valueAt(split, 'distribute_id'), valueAt(split, 'status')];
  const minor = minorOf(valueAt(split, 'target_amount'));
  const isRefunded = String(valueAt(split, 'refund_flag')) === 'true';
  const isKnown = status === 'SUCCESS' || status === 'FAILED';
  const isOurs = valueAt(split, 'target_currency') === 'CNY';
  return minor !== undefined && isKnown && isOurs ? `${id} ${status} ${minor} ${isRefunded}` : undefined;
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0 ? [value] : [];
}

/** Exact for amounts below ten billion, the only ones in these tests. */
export function minorOf(value: unknown): bigint | undefined {
  const match = /^(\d{1,16})(?:\.(\d{1,2}))?$/.exec(String(value));
  return match ? BigInt(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`) : undefined;
}
