/** `tokens`: shows the tokens, their expiry and who must authorize, and renews a token on demand. */
import { type ListedToken, Tokens } from '../../client/tokens.ts';
import type { Answer } from './answer.ts';
import type { Session } from './session.ts';
import { attentionText, colors, grid } from './text.ts';

/** With `renew`, `application` or the openId of a user, renews that token and shows only it. */
export async function tokens(
  { client, withDeadline }: Session,
  { app, renew, limit }: { app: string; renew?: string | undefined; limit: number },
): Promise<Answer> {
  const known = new Tokens(client);
  const openId = renew === 'application' ? undefined : renew;
  const found = await withDeadline(async () =>
    renew === undefined ? known.list(app, limit) : [await known.renew(app, openId)],
  );
  const head = ['token', 'expires', 'next renewal', 'refresh token expires', 'renewals', 'state'];
  return { json: found, text: found.length === 0 ? 'no tokens yet' : grid(head, found.map(row)) };
}

function row(token: ListedToken): string[] {
  if ('ended' in token)
    return [token.workflowId, '', '', '', '', colors.yellow(`renewal ended: ${token.ended}`)];
  const { openId, expiresAt = '', renewsAt = '', refreshExpiresAt = '', renewals } = token;
  const state = [token.sentence, ...token.reasons.map(attentionText)].join('\n');
  return [openId ?? 'application', expiresAt, renewsAt, refreshExpiresAt, `${renewals}`, state];
}
