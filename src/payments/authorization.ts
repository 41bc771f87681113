/**
 * Selects a call's token and its header format. The spec (Authentication, 3 and 6) leaves both open, so settings
 * decide.
 */
import { type ErrorContext, InvalidRequestError, NotSentError } from './errors.ts';
import type { TokenPlace } from './operations.ts';
import type { PaymentsClientOptions, TokenKind } from './options.ts';
import { safeErrorName } from './redact.ts';

/** The token of a call, with its user (H15). */
export interface Token {
  kind: TokenKind;
  openId: string | undefined;
  text: string;
}

export interface Authorization {
  headers: Record<string, string>;
  token?: Token;
}

/**
 * Throws `InvalidRequestError` if a user token is needed and `openId` is absent, and `NotSentError` if there is no
 * token.
 */
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
      { path: 'openId', message: 'is required, because this call uses a user token' },
    ]);
  const token = { kind, openId: kind === 'user' ? openId : undefined };
  const text = await tokenText(options, context, token);
  const bare = place === 'trade' && options.tradeAuthScheme === 'none';
  return { headers: { authorization: bare ? text : `Bearer ${text}` }, token: { ...token, text } };
}

/** The characters that a header may contain. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

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
  if (HEADER_SAFE.test(text)) return text;
  // Otherwise the source would return it for its whole lifetime.
  reportRejectedToken(options, { kind, openId, text });
  throw new NotSentError(context, 'token', 'UnwritableToken');
}

/** An error of the token source must not change the result of the call. */
export function reportRejectedToken({ tokens }: PaymentsClientOptions, { kind, openId, text }: Token): void {
  try {
    tokens.rejected?.(kind, openId, text);
  } catch {}
}
