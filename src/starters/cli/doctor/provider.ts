/** The provider and the tokens for it. Only workers call the provider, so a worker checks it. */
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';
import type { ListedToken, UnreadToken } from '../../../client/tokens.ts';
import { tokenWorkflowId } from '../../../contract/ids.ts';
import type { ProbeResult, ProbeTarget } from '../../../contract/workflows.ts';
import { isUnserved, messageOf } from '../../../temporal/client-errors.ts';
import type { Session } from '../session.ts';
import { type Finding, ok, problem, until } from './checks.ts';

const MAX_TOKENS = 100;
const UNREACHABLE =
  "check PAYMENTS_BASE_URL of the workers, and whether the provider's allow-list has their egress addresses (docs/operations.md, Provider outage)";
export const RATE_LIMITED =
  'another program may use the same app_id, or the rate is set too high: payouts rate-limit; docs/alerts.md, PayoutsRateLimited. Then run doctor again';
/** Only the user can fix these. */
const USER_MUST_AUTHORIZE = ['REFRESH_REFUSED', 'NO_REFRESH_TOKEN'];
const WRONG_CREDENTIALS =
  'check that PAYMENTS_BASE_URL, PAYMENTS_APP_ID and PAYMENTS_APP_SECRET of the workers belong to one environment; ';
/** The first token comes a moment after the first worker. */
const FIRST_TOKEN_MS = 5_000;
const POLL_INTERVAL_MS = 500;
const NO_TOKEN = ['TOKEN_EXPIRED', 'NO_TOKEN', 'REFUSED'];
const NO_APPLICATION_TOKEN = 'there is no application token';

export interface DoctorOptions {
  app: string;
  target: ProbeTarget;
  openId?: string | undefined;
}

export async function checkProvider(
  { reads }: Session,
  { app, target, openId }: DoctorOptions,
): Promise<Finding & { probe?: ProbeResult }> {
  try {
    const probe = await reads.probe(app, target, openId);
    const { ok: isReached, detail } = probe.reached;
    const advice = probe.limited ? RATE_LIMITED : UNREACHABLE;
    return { ...(isReached ? ok(detail) : problem(detail, advice)), probe };
  } catch (error) {
    if (isUnserved(error)) throw error;
    return problem(messageOf(error), UNREACHABLE);
  }
}

/** Checks at most a hundred tokens. Without an application token, a call to the provider would only wait. */
export async function checkTokens(session: Session, app: string): Promise<Finding> {
  const tokens = await fetchedTokens(session, app);
  if (!tokens) return problem(await whyNotFetched(session, app), UNREACHABLE, NO_APPLICATION_TOKEN);
  const bad = tokens.filter((token) => isUnread(token) || token.needsAttention);
  if (bad.length > 0) {
    const isMissing = bad.some((token) => isMissingApplicationToken(token, app));
    return problem(
      bad.map(describe).join('; '),
      adviceFor(bad),
      isMissing ? NO_APPLICATION_TOKEN : undefined,
    );
  }
  return ok(
    tokens.length === 0 ? 'none yet: the first call to the provider gets one' : `${tokens.length} valid`,
  );
}

/** Undefined if the application's first token has not come. */
function fetchedTokens({ tokens: known }: Session, app: string): Promise<ListedToken[] | undefined> {
  const look = async () => {
    const tokens = await known.list(app, MAX_TOKENS);
    return tokens.some(isBeingFetched) ? undefined : tokens;
  };
  return until(look, POLL_INTERVAL_MS, FIRST_TOKEN_MS);
}

function isBeingFetched(token: ListedToken): boolean {
  if (isUnread(token) || token.kind !== 'application') return false;
  return token.expiresAt === undefined && !token.reasons.some(({ code }) => code === 'REFUSED');
}

/** The renewal flags a failure only after a minute of retries. Temporal has the last failure before that. */
async function whyNotFetched({ client }: Session, app: string): Promise<string> {
  const { raw } = await client.workflow.getHandle(tokenWorkflowId(app)).describe();
  const failed = raw.pendingActivities?.find(({ lastFailure }) => lastFailure);
  const { loadedDataConverter } = client.options;
  const error = await decodeOptionalFailureToOptionalError(loadedDataConverter, failed?.lastFailure);
  return `application: no token yet${error ? `: ${messageOf(error)}` : ''}`;
}

function isUnread(token: ListedToken): token is UnreadToken {
  return 'ended' in token || 'stuck' in token;
}

function isMissingApplicationToken(token: ListedToken, app: string): boolean {
  if (isUnread(token)) return 'ended' in token || token.workflowId === tokenWorkflowId(app);
  return (
    token.kind === 'application' &&
    token.reasons.some(({ code }) => NO_TOKEN.includes(code)) &&
    !(Date.parse(token.expiresAt ?? '') > Date.now())
  );
}

function describe(token: ListedToken): string {
  if ('ended' in token) return `${token.workflowId}: its renewal has ended (${token.ended})`;
  if ('stuck' in token) return token.stuck;
  return `${token.openId ?? 'application'}: ${token.reasons.map(({ code }) => code).join(', ')}`;
}

function adviceFor(bad: readonly ListedToken[]): string {
  const codes = bad.flatMap((token) => (isUnread(token) ? [] : token.reasons.map(({ code }) => code)));
  const needsUser = codes.some((code) => USER_MUST_AUTHORIZE.includes(code));
  const authorize = needsUser
    ? 'the user must authorize again, with a link from POST /v1/authorizations; '
    : '';
  const refused = codes.includes('REFUSED') ? WRONG_CREDENTIALS : '';
  return `${refused}${authorize}payouts tokens shows what each token needs (docs/operations.md, Tokens)`;
}
