/** `tokens`: until when each token lives, who has to authorize, and a renewal on demand. */
import type { TokenState } from '../../domain/token-record.ts';
import { type ListedToken, Tokens } from '../tokens.ts';
import { type Answer, UsageError } from './answer.ts';
import { colours } from './colours.ts';
import type { Session } from './session.ts';
import { attentionText, grid } from './text.ts';

export interface TokenOptions {
  app: string;
  /** `application`, or a user's openId. */
  renew?: string | undefined;
  limit: string;
}

export async function tokens(session: Session, { app, renew, limit }: TokenOptions): Promise<Answer> {
  const tokens = new Tokens(session.client);
  if (renew !== undefined) {
    const openId = renew === 'application' ? undefined : renew;
    return answer(await session.soon(() => tokens.renew(app, openId)).then((state) => [state]));
  }
  const most = Number(limit);
  if (!Number.isInteger(most) || most < 1) throw new UsageError('--limit must be a whole number from 1');
  return answer(await session.soon(() => tokens.list(app, most)));
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
