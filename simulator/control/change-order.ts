/** Changes an order by hand, in ways that no scenario offers. */
import { isJsonObject } from '../json.ts';
import { parseMinor } from '../money.ts';
import { FINAL_STATUSES, type Order, type Receiver } from '../orders/order.ts';
import type { World } from '../world.ts';
import type { ParsedOrderChange } from './requests.ts';

export function changeOrder(world: World, order: Order, change: ParsedOrderChange): void {
  if (change.status !== undefined) changeStatus(world, order, change.status);
  changeFields(order, change);
  if (change.echoClientId !== undefined) echoClientId(order, change.echoClientId);
  for (const split of change.splits ?? []) changeSplit(order, split);
  for (const [operation, patch] of Object.entries(change.answers ?? {}))
    changeAnswer(order, operation, patch);
}

function changeFields(order: Order, change: ParsedOrderChange): void {
  if (change.auditStatus !== undefined) order.auditStatus = change.auditStatus;
  if (change.complete !== undefined) order.complete = change.complete;
  if (change.v2Status !== undefined) order.v2Status = change.v2Status ?? undefined;
  if (change.errorMsg !== undefined) order.errorMsg = change.errorMsg ?? undefined;
  if (change.receiver !== undefined) order.receiver = changedReceiver(order.receiver, change.receiver);
  if (change.lockRateId !== undefined) order.lockRateId = change.lockRateId;
  if (change.visible !== undefined) order.visibleAtMs = change.visible ? 0 : Number.POSITIVE_INFINITY;
}

function changedReceiver(
  receiver: Receiver,
  { bankAccountNumber, bankAccountName, bankName }: NonNullable<ParsedOrderChange['receiver']>,
): Receiver {
  return {
    bankAccountNumber: bankAccountNumber ?? receiver.bankAccountNumber,
    bankAccountName: bankAccountName ?? receiver.bankAccountName,
    bankName: bankName ?? receiver.bankName,
  };
}

function changeStatus(world: World, order: Order, status: string): void {
  if (FINAL_STATUSES.includes(status)) world.life.end(order, status);
  else {
    order.status = status;
    order.complete = false;
  }
}

function changeSplit(order: Order, change: NonNullable<ParsedOrderChange['splits']>[number]): void {
  const split = order.splits[change.index];
  if (!split) throw new RangeError(`the order has no split ${change.index}`);
  if (change.status !== undefined) split.status = change.status;
  const minor = change.amount === undefined ? undefined : parseMinor(change.amount);
  if (minor !== undefined) split.target = { currency: split.target.currency, minor };
  if (change.refund !== undefined) split.refundFlag = change.refund;
  if (change.refundReason !== undefined) split.refundReason = change.refundReason;
}

/** Stored as an answer patch, so that it combines with other changes to the same answers. */
function echoClientId(order: Order, clientId: string | null): void {
  for (const operation of ['queryResult', 'queryPayDetail']) {
    const current = order.answerPatches.get(operation);
    const { client_id: _replaced, ...others } = isJsonObject(current) ? current : {};
    order.answerPatches.set(operation, clientId === null ? others : { ...others, client_id: clientId });
  }
}

function changeAnswer(order: Order, operation: string, patch: unknown): void {
  if (patch === null) order.answerPatches.delete(operation);
  else if (isJsonObject(patch)) {
    // Shallow merge on purpose: null in a patch means "remove this field", and a deep merge would lose it.
    const earlier = order.answerPatches.get(operation);
    order.answerPatches.set(operation, { ...(isJsonObject(earlier) ? earlier : {}), ...patch });
  }
}
