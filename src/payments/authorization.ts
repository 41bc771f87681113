/** Which token a call carries, and how it is written (spec: Authentication 3 and 6, both left to settings). */
import { type ErrorContext, InvalidRequestError, NotSentError } from './errors.ts';
import type { TokenPlace } from './operations.ts';
import type { PaymentsClientOptions, TokenKind } from './options.ts';
import { safeErrorName } from './redact.ts';

/** The token a call went out with: bound to its user (H15). */
export interface Token {
  kind: TokenKind;
  openId: string | undefined;
  text: string;
}

export interface Authorization {
  headers: Record<string, string>;
  token?: Token;
}

/** Throws `InvalidRequestError` without the `openId` a user token needs, `NotSentError` without a token. */
export async function authorizationHeaders(
  options: PaymentsClientOptions,
  place: TokenPlace,
  context: ErrorContext,
  openId: string | undefined,
): Promise<Authorization> {
  if (place === 'none') return { headers: {} };
  const kind = place === 'gateway' ? options.gatewayToken : options.tradeToken;
  if (kind === 'user' && openId === undefined)
    throw new InvalidRequestError(context, [
      { path: 'openId', message: 'needed: this call uses a user token' },
    ]);
  const token = { kind, openId: kind === 'user' ? openId : undefined };
  const text = await tokenText(options, context, token);
  const bare = place === 'trade' && options.tradeAuthScheme === 'none';
  return { headers: { authorization: bare ? text : `Bearer ${text}` }, token: { ...token, text } };
}

/** What a header can carry. */
const WRITABLE = /^[\x21-\x7e]+$/;

async function tokenText(
  options: PaymentsClientOptions,
  context: ErrorContext,
  { kind, openId }: Omit<Token, 'text'>,
): Promise<string> {
  const text = await options.tokens
    .token(openId === undefined ? { kind } : { kind, openId })
    .catch((error: unknown) => {
      throw new NotSentError(context, 'token', safeErrorName(error));
    });
  if (WRITABLE.test(text)) return text;
  // It would stay the token at hand for its whole life.
  reportRejectedToken(options, { kind, openId, text });
  throw new NotSentError(context, 'token', 'UnwritableToken');
}

/** A source that cannot take the news must not change what the call came to. */
export function reportRejectedToken({ tokens }: PaymentsClientOptions, { kind, openId, text }: Token): void {
  try {
    tokens.rejected?.(kind, openId, text);
  } catch {}
}
