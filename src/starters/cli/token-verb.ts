/** `tokens`: until when each token lives, who has to authorize, and a renewal on demand. */

import { type ListedToken, Tokens } from '../../client/tokens.ts';
import type { TokenState } from '../../domain/token-record.ts';
import type { Answer } from './answer.ts';
import { colours } from './colours.ts';
import type { Session } from './session.ts';
import { attentionText, grid } from './text.ts';

export async function listTokens({ client, soon }: Session, app: string, limit: number): Promise<Answer> {
  return answer(await soon(() => new Tokens(client).list(app, limit)));
}

/** `whose`: `application`, or a user's openId. */
export async function renewToken({ client, soon }: Session, app: string, whose: string): Promise<Answer> {
  const openId = whose === 'application' ? undefined : whose;
  return answer([await soon(() => new Tokens(client).renew(app, openId))]);
}

function answer(found: ListedToken[]): Answer {
  const head = ['token', 'expires', 'renewed from', 'refresh token until', 'renewals', 'state'];
  return { json: found, text: found.length === 0 ? 'no tokens yet' : grid(head, found.map(row)) };
}

function row(token: ListedToken): string[] {
  if ('ended' in token)
    return [token.workflowId, '', '', '', '', colours.yellow(`the renewal has ended: ${token.ended}`)];
  const { openId, expiresAt = '', renewsAt = '', refreshExpiresAt = '', renewals } = token;
  return [openId ?? 'application', expiresAt, renewsAt, refreshExpiresAt, `${renewals}`, standing(token)];
}

function standing({ sentence, reasons }: TokenState): string {
  return [sentence, ...reasons.map(attentionText)].join('\n');
}
