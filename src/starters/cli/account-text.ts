/** Receiving accounts as a person reads them. */
import type { ReceivingAccountState } from '../../domain/receiving-account.ts';
import { attentionText, facts } from './text.ts';

export function openingText(state: Partial<ReceivingAccountState>): string {
  const { reason, candidates, account, reasons = [] } = state;
  const lines = facts([
    ['request', state.requestId],
    ['phase', state.phase],
    ['state', state.sentence],
    ['next', state.nextStep],
    ['outcome', state.outcome],
    ['reason', reason && `${reason.code}: ${reason.message}`],
    ['account', state.accountId],
    ['currency', state.currency],
    ['may be it', candidates?.join(', ')],
    ['service last asked', state.lastAskedAt],
  ]);
  return [lines, account && recordText(account), ...reasons.map(attentionText)]
    .filter((part) => part)
    .join('\n');
}

/** Whatever fields the service wrote. */
export function recordText(record: Record<string, unknown>): string {
  return facts(
    Object.entries(record).map(([name, value]) => [
      `  ${name}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
