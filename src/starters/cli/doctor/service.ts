/** The payments service and the tokens for it. Only workers talk to it, so a worker is asked. */

import { type ListedToken, Tokens } from '../../../client/tokens.ts';
import type { ProbeResult, ProbeTarget } from '../../../contract/workflows.ts';
import type { Session } from '../session.ts';
import { type Check, messageOf, problem, unknown, well } from './check.ts';

const CHECK = 'payments service';
const MOST_TOKENS = 100;
const AWAY =
  "is PAYMENTS_BASE_URL of the workers right, and is their egress address on the service's list? docs/operations.md, The service is away";
/** Only the user can mend these. */
const USER_MUST_AUTHORIZE = ['REFRESH_REFUSED', 'NO_REFRESH_TOKEN'];
const NO_CALL_WITHOUT = ['TOKEN_EXPIRED', 'NO_TOKEN', 'REFUSED'];

export interface Service {
  check: Check;
  probed?: ProbeResult;
}

export interface TokenStates {
  check: Check;
  /** The application's own token is missing or has run out: a call would only wait for it. */
  applicationHasNone: boolean;
}

export async function serviceAnswers(
  { reads }: Session,
  app: string,
  question: ProbeTarget,
  openId?: string,
): Promise<Service> {
  try {
    const probed = await reads.probe(app, question, openId);
    const { ok, detail } = probed.reached;
    return { check: ok ? well(CHECK, detail) : problem(CHECK, detail, AWAY), probed };
  } catch (error) {
    return { check: problem(CHECK, messageOf(error), AWAY) };
  }
}

export function notAsked(why: string): Check {
  return unknown(CHECK, `not asked: ${why}`, 'mend what is wrong above, and ask again');
}

/** Looks at a hundred: where more users than that have to authorize, the rest is seen once these are well. */
export async function tokenStates({ client, soon }: Session, app: string): Promise<TokenStates> {
  const check = 'tokens';
  try {
    const tokens = await soon(() => new Tokens(client).list(app, MOST_TOKENS));
    const bad = tokens.filter((token) => 'ended' in token || token.needsAttention);
    const applicationHasNone = bad.some((token) => 'ended' in token || hasNone(token));
    if (bad.length > 0)
      return { check: problem(check, bad.map(named).join('; '), advice(bad, app)), applicationHasNone };
    const known =
      tokens.length === 0 ? 'none yet: the first call asks for one' : `${tokens.length} known, all well`;
    return { check: well(check, known), applicationHasNone };
  } catch (error) {
    const detail = `nobody answers for them: ${messageOf(error)}`;
    return { check: unknown(check, detail, 'payouts tokens'), applicationHasNone: false };
  }
}

function hasNone(token: ListedToken): boolean {
  return (
    !('ended' in token) &&
    token.kind === 'application' &&
    token.reasons.some(({ code }) => NO_CALL_WITHOUT.includes(code)) &&
    !(Date.parse(token.expiresAt ?? '') > Date.now())
  );
}

function named(token: ListedToken): string {
  if ('ended' in token) return `${token.workflowId}: its renewal has ended (${token.ended})`;
  return `${token.openId ?? 'application'}: ${token.reasons.map(({ code }) => code).join(', ')}`;
}

function advice(bad: readonly ListedToken[], app: string): string {
  const codes = bad.flatMap((token) => ('ended' in token ? [] : token.reasons.map(({ code }) => code)));
  const user = codes.some((code) => USER_MUST_AUTHORIZE.includes(code));
  const authorize = user ? `the user authorizes again at GET /v1/oauth/${app}/authorize; ` : '';
  return `${authorize}payouts tokens says what each needs (docs/operations.md, Tokens)`;
}
