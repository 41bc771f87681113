/** The commands that decide about a payout: each sends it an update. */
import { type Command, Option } from '@commander-js/extra-typings';
import type { PayoutRef, Payouts } from '../../client/payouts.ts';
import { TOLERANCE, TOLERANCE_RULE } from '../../contract/codes.ts';
import type { PayoutState } from '../../contract/payout.ts';
import type { Resolution } from '../../contract/workflows.ts';
import {
  APP,
  command,
  confirmed,
  DECIDED_BY,
  ID,
  matching,
  NOT_CREATED,
  quick,
  REASON,
  type ResolutionOptions,
  repeatable,
  resolutionOf,
  SENDS,
  YES,
} from './command.ts';
import type { Work } from './session.ts';
import { stateText } from './text.ts';

const TRADE_ORDER = new Option(
  '--trade-order-id <orderId>',
  'an order to review: the number of this order in the trade queries',
);
const REVIEWED_ORDER = new Option(
  '--reviewed-order-id <orderId>',
  'an order to review that is not of this payout; repeat it for each',
);

export function decisionCommands(program: Command): void {
  const decision = (command: Command) =>
    command.addArgument(ID).addOption(APP).addOption(YES).addOption(DECIDED_BY);
  const approval = (command: Command) =>
    decision(command)
      .description(`${command.name()} a payout`)
      .option('--note <text>', 'the reason')
      .option('--lock-rate-id <id>', 'the lock of the quote that you have seen: applies to no other quote');
  approval(program.command('approve'))
    .option(
      '--tolerance <percent>',
      'how much more a later quote may cost, such as 0.5',
      matching(TOLERANCE, TOLERANCE_RULE),
    )
    .action(decide('approve', (payouts, payout, given) => payouts.approve(payout, given)));
  approval(program.command('refuse')).action(
    decide('refuse', (payouts, payout, given) => payouts.refuse(payout, given)),
  );
  decision(program.command('cancel'))
    .description('cancel a payout before its create call begins')
    .addOption(REASON)
    .action(decide('cancel', (payouts, payout, given) => payouts.cancel(payout, given)));
  decision(program.command('resolve'))
    .description('resolve a payout in review')
    .option('--created <orderId>', 'the order exists; ids and amounts are compared first')
    .addOption(TRADE_ORDER.conflicts('notCreated'))
    .addOption(NOT_CREATED)
    .addOption(REVIEWED_ORDER.argParser(repeatable).conflicts('created'))
    .addOption(SENDS)
    .action(
      quick((id, { app, yes, ...options }) => {
        const resolution = payoutResolution(options);
        const work = steer({ app, partnerOrderId: id }, (payouts, payout) =>
          payouts.resolve(payout, resolution),
        );
        return confirmed({ yes }, `resolve payout ${id}`, work);
      }),
    );
  decision(program.command('acknowledge'))
    .description('acknowledge the flags of a payout that has ended: they leave the lists')
    .option('--note <text>', 'what was found or done')
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

type Deciding = { app: string; yes?: true | undefined };
type Send<Given> = (payouts: Payouts, payout: PayoutRef, given: Given) => Promise<PayoutState>;

/** The action of a command whose options are the decision. */
function decide<Options extends Deciding, Rest extends unknown[]>(
  change: string,
  send: Send<Omit<Options, keyof Deciding>>,
) {
  return quick((partnerOrderId: string, { app, yes, ...given }: Options, ..._rest: Rest) => {
    const work = steer({ app, partnerOrderId }, (payouts, payout) => send(payouts, payout, given));
    return confirmed({ yes }, `${change} payout ${partnerOrderId}`, work);
  });
}

/** Sends an update. Reads the memo first: a message that the workers cannot decrypt would leave the payout stuck. */
function steer(payout: PayoutRef, send: (payouts: Payouts, payout: PayoutRef) => Promise<PayoutState>): Work {
  return async ({ payouts }) => {
    await payouts.handle(payout).describe();
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
  const decision = resolutionOf(options, 'ORDER_ID');
  if (!decision.created) return { by, ...decision, ...(reviewedOrderIds && { reviewedOrderIds }) };
  return { by, created: true, orderId: decision.id, ...(tradeOrderId !== undefined && { tradeOrderId }) };
}
