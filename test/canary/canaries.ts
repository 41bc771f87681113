/** Recognizable values for every secret and every personal field, and the search for them. */
import type { PayoutRequest } from '../../src/contract/payout-request.ts';

/** Letters, digits and hyphens only, so that no escaping changes them. */
export const CANARIES = {
  appSecret: 'CANARY-app-secret-0001',
  /** Prefix of every token, refresh token and authorization code of the simulator. */
  tokens: 'CANARY-token-',
  signingKey: 'CANARY-signing-key-0001',
  notificationSecret: 'CANARY-notification-secret-01',
  accountNumber: 'CANARY622202000001',
  accountName: 'CANARY-Zhang-San',
  branchName: 'CANARY-branch-0001',
  idCardNumber: 'CANARY110101199003',
  metadata: 'CANARY-metadata-0001',
  note: 'CANARY-note-of-an-approver',
  notificationBody: 'CANARY-notification-body',
} as const;
export type Canary = keyof typeof CANARIES;

/** The message that the provider sends with a fault. Providers have been known to repeat what they received. */
export const QUOTING_MESSAGE = `cannot pay ${CANARIES.accountNumber} of ${CANARIES.accountName}, id ${CANARIES.idCardNumber}`;

export function withCanaries(request: PayoutRequest): PayoutRequest {
  const receiver = {
    ...request.receiver,
    bankAccountNumber: CANARIES.accountNumber,
    bankAccountName: CANARIES.accountName,
    bankBranchName: CANARIES.branchName,
    idCardNumber: CANARIES.idCardNumber,
  };
  return { ...request, receiver, metadata: { reference: CANARIES.metadata } };
}

/** How often each canary occurs in what was stored or printed, plain or in base64. */
export function hitsIn(
  places: ReadonlyMap<string, Buffer>,
): { place: string; canary: Canary; hits: number }[] {
  const found = [];
  for (const [place, bytes] of places)
    for (const [canary, value] of Object.entries(CANARIES)) {
      const hits = spellingsOf(value).reduce((sum, spelling) => sum + count(bytes, spelling), 0);
      if (hits > 0) found.push({ place, canary: canary as Canary, hits });
    }
  return found;
}

/** The plain form, and base64 at each of the three possible offsets. */
function spellingsOf(value: string): string[] {
  const aligned = [0, 1, 2].map((before) => {
    const encoded = Buffer.from('x'.repeat(before) + value).toString('base64');
    // The characters at both ends also depend on the neighboring bytes.
    return encoded.slice(before === 0 ? 0 : 4, Math.floor(((before + value.length) * 8) / 6 / 4) * 4);
  });
  return [value, ...aligned];
}

function count(bytes: Buffer, needle: string): number {
  let hits = 0;
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) hits += 1;
  return hits;
}
