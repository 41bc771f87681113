/** Spec: Token record, and Application token. */
import { z } from 'zod';
import type { ApplicationToken, UserTokens } from '../../contract/provider-records.ts';
import { seconds, text, token } from './scalars.ts';

const MAX_TOKEN = 8192;

export const userTokensAnswer: z.ZodType<UserTokens> = z
  .object({
    access_token: token(MAX_TOKEN),
    open_id: text(128),
    expires_in: seconds,
    refresh_token: token(MAX_TOKEN),
    refresh_token_expires_in: seconds,
  })
  .transform((wire) => ({
    accessToken: wire.access_token,
    openId: wire.open_id,
    expiresInSeconds: wire.expires_in,
    refreshToken: wire.refresh_token,
    refreshTokenExpiresInSeconds: wire.refresh_token_expires_in,
  }));

export const applicationTokenAnswer: z.ZodType<ApplicationToken> = z
  .object({ access_token: token(MAX_TOKEN), expires_in: seconds })
  .transform((wire) => ({ accessToken: wire.access_token, expiresInSeconds: wire.expires_in }));
