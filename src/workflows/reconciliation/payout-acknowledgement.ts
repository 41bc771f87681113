/**
 * Records that an operator has seen the flags of a payout that has ended. A closed workflow cannot change its search
 * attributes, so those of the payout stay, and lists leave it out because of this workflow. Its memo has everything.
 */
export async function payoutAcknowledgement(): Promise<void> {}
