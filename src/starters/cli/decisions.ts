/** The commands that decide about a payout: each sends it an update. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { PayoutRef, Payouts } from '../../client/payouts.ts';
import { TOLERANCE, TOLERANCE_RULE } from '../../contract/codes.ts';
import type { PayoutState } from '../../contract/payout.ts';
import type { Resolution } from '../../contract/workflows.ts';
import {
  command,
  decision,
  ID,
  matching,
  quick,
  REASON,
  type ResolutionOptions,
  repeatable,
  resolutionOf,
  resolving,
  time,
} from './command.ts';
import type { Work } from './session.ts';
import { stateText } from './text.ts';

const tolerance = matching(TOLERANCE, TOLERANCE_RULE);
const TRADE_ORDER = new Option(
  '--trade-order-id <orderId>',
  'an order to review: the number of this order in the trade queries',
).conflicts('notCreated');
const REVIEWED_ORDER = new Option(
  '--reviewed-order-id <orderId>',
  'an order to review that is not of this payout; repeat it for each',
);

export function decisionCommands(program: Command): void {
  const approval = (name: string) =>
    decision(program, name, `${name} a payout`)
      .addArgument(ID)
      .option('--note <text>', 'the reason')
      .option('--lock-rate-id <id>', 'the lock of the quote that you have seen: applies to no other quote');
  approval('approve')
    .option('--tolerance <percent>', 'how much more a later quote may cost, such as 0.5', tolerance)
    .action(decide('approve', (payouts, payout, given) => payouts.approve(payout, given)));
  approval('refuse').action(decide('refuse', (payouts, payout, given) => payouts.refuse(payout, given)));
  decision(program, 'cancel', 'cancel a payout before its create call begins')
    .addArgument(ID)
    .addOption(REASON)
    .action(decide('cancel', (payouts, payout, given) => payouts.cancel(payout, given)));
  resolving(program, 'resolve a payout in review', 'the order exists; IDs and amounts are compared first')
    .addOption(TRADE_ORDER)
    .addOption(REVIEWED_ORDER.argParser(repeatable).conflicts('created'))
    .action(
      quick((partnerOrderId, { app, ...options }) => {
        const resolution = payoutResolution(options);
        return {
          change: `resolve payout ${partnerOrderId}`,
          work: steer({ app, partnerOrderId }, (payouts, payout) => payouts.resolve(payout, resolution)),
        };
      }),
    );
  decision(program, 'acknowledge', 'acknowledge the flags of a finished payout: they leave the lists')
    .addArgument(ID)
    .option('--note <text>', 'what was found or done')
    .option('--read-at <time>', 'a time before you read the flags: covers nothing found later', time)
    .action(
      decide('acknowledge the flags of', (payouts, payout, given) => payouts.acknowledge(payout, given)),
    );
  command(program, 'poll', 'poll the provider now')
    .addArgument(ID)
    .action(
      quick((partnerOrderId, { app }) =>
        steer({ app, partnerOrderId }, (payouts, payout) => payouts.poll(payout)),
      ),
    );
}

/** The action of a command whose options are the decision. */
function decide<Options extends { app: string }, Rest extends unknown[]>(
  change: string,
  send: (payouts: Payouts, payout: PayoutRef, given: Omit<Options, 'app'>) => Promise<PayoutState>,
) {
  return quick((partnerOrderId: string, { app, ...given }: Options, ..._rest: Rest) => ({
    change: `${change} payout ${partnerOrderId}`,
    work: steer({ app, partnerOrderId }, (payouts, payout) => send(payouts, payout, given)),
  }));
}

/** Sends an update. Describes the payout first: a message that the workers cannot decrypt would leave it stuck. */
function steer(payout: PayoutRef, send: (payouts: Payouts, payout: PayoutRef) => Promise<PayoutState>): Work {
  return async ({ payouts }) => {
    await payouts.requireWorker(payout);
    const state = await send(payouts, payout);
    return { json: state, text: stateText(state) };
  };
}

interface PayoutResolutionOptions extends ResolutionOptions {
  by: string;
  tradeOrderId?: string | undefined;
  reviewedOrderId?: string[] | undefined;
}

export function payoutResolution({
  by,
  tradeOrderId,
  reviewedOrderId: reviewedOrderIds,
  ...options
}: PayoutResolutionOptions): Resolution {
  const chosen = resolutionOf(options, 'ORDER_ID');
  if (!chosen.created) return { by, ...chosen, ...(reviewedOrderIds && { reviewedOrderIds }) };
  return { by, created: true, orderId: chosen.id, ...(tradeOrderId !== undefined && { tradeOrderId }) };
}
