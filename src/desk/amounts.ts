/** Shows the money that a payout has moved: its amounts, payments and debits, and what came back. */
import {
  formatMoney,
  lessMoney,
  type Money,
  sameMoney,
  toMinorUnits,
  totalsByCurrency,
} from '../contract/money.ts';
import type { PayoutState } from '../contract/payout.ts';
import type { ReturnedPayment } from '../contract/reconciliation.ts';
import { coded, copyable, facts, groupedAmount, type Html, html, money, pill, table, time } from './html.ts';

/** The money of payments that had succeeded. */
export interface Returned {
  /** The provider's reasons, by the payments' numbers. */
  whyOf: ReadonlyMap<string, string | undefined>;
  sum: Money;
  /** Nothing of what the beneficiary had received is left. */
  isWhole: boolean;
}

/** Undefined if nothing came back. `found`: by the follow-up, after the end. */
export function returnedOf(
  { splits = [], received }: PayoutState,
  found: readonly ReturnedPayment[],
): Returned | undefined {
  const reasons = new Map(found.map(({ distributeId, refundReason }) => [distributeId, refundReason]));
  const back = splits.filter(
    ({ status, refunded, distributeId }) => status === 'SUCCESS' && (refunded || reasons.has(distributeId)),
  );
  const [sum] = totalsByCurrency(back.map(({ target }) => target));
  if (!sum) return undefined;
  const whyOf = new Map(
    back.map(({ distributeId, refundReason = reasons.get(distributeId) }) => [distributeId, refundReason]),
  );
  return { whyOf, sum, isWhole: received !== undefined && sameMoney(sum, received) };
}

/** `Paid 51000.00 CNY, then 51000.00 CNY came back.` */
export function returnedText({ sentence }: Pick<PayoutState, 'sentence'>, { sum }: Returned): string {
  return `${sentence.replace(/\.$/, '')}, then ${formatMoney(sum)} came back.`;
}

function targetName({ phase, outcome }: PayoutState): string {
  if (phase !== 'DONE') return 'Beneficiary gets';
  return outcome === 'NOT_CREATED' ? 'Quoted' : 'Ordered';
}

/** The debits tell what was paid. The quote stands beside it where they differ. */
function paid(
  quoted: Money,
  debited: readonly Money[],
  [before, after]: readonly [string, string],
): readonly [string, Html | undefined] {
  const [sum, other] = totalsByCurrency(debited);
  if (!sum || other || sum.currency !== quoted.currency || sameMoney(sum, quoted))
    return [before, money(quoted)];
  return [after, html`${money(sum)} <small class="faint">(quoted ${groupedAmount(quoted.amount)})</small>`];
}

export function amounts({ state, returned }: { state: PayoutState; returned: Returned | undefined }): Html {
  const { quote, debits = [], splits = [], failed } = state;
  return html`${
    quote &&
    html`<section class="card"><h2>Amounts</h2>${facts([
      paid(
        quote.pay,
        debits.map(({ pay }) => pay),
        ['Payer pays', 'Debited'],
      ),
      [targetName(state), money(quote.target)],
      ['Rate', quote.exchangeRate],
      paid(
        quote.fee,
        debits.map(({ fee }) => fee),
        ['Fee', 'Fee'],
      ),
      [
        'Received',
        money(state.received && returned ? lessMoney(state.received, returned.sum) : state.received),
      ],
      // An order that failed before it had splits has a sum of zero.
      ['Failed', failed && toMinorUnits(failed.amount) > 0n && money(failed)],
      ['Returned', money(returned?.sum)],
    ])}</section>`
  }${
    splits.length > 0 &&
    table({
      caption: 'Payments',
      head: ['Number', 'Amount#', 'Status', 'Finished', 'Notes'],
      rows: splits.map(({ distributeId, target, status, finishedAt, error }) => {
        const isBack = returned?.whyOf.has(distributeId) ?? false;
        return [
          copyable(distributeId),
          money(target),
          isBack ? pill('RETURNED', 'bad') : pill(status),
          time(finishedAt),
          isBack ? (returned?.whyOf.get(distributeId) ?? 'no reason given') : error,
        ];
      }),
    })
  }${
    debits.length > 0 &&
    table({
      caption: 'Debits',
      head: ['Account', 'Type', 'Amount#', 'Fee#', 'Without the fee#'],
      rows: debits.map(({ accountId, accountType, pay, fee, actual }) => [
        accountId,
        coded(accountType),
        ...[pay, fee, actual].map(money),
      ]),
    })
  }`;
}
