/**
 * Whether a notification comes from the service. The spec shows no scheme: without one every notification
 * is only a hint, and with one it still is, but a rejected one never gets further (H32).
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { PaymentsSettingError } from './errors.ts';
import { loadPlugIn, methodOf } from './plug-in.ts';
import { hmacMatches, type NotificationInput, rsaMatches, signedNotification } from './standard-webhooks.ts';

export type NotificationResult = 'verified' | 'unverified-accepted' | 'rejected';

export interface NotificationVerdict {
  result: NotificationResult;
  /** True for `verified` only. */
  verified: boolean;
  /** Why it was rejected; quotes nothing of the notification. */
  reason?: string;
}

export interface NotificationVerifier {
  /** Never rejects. */
  verify(input: NotificationInput): Promise<NotificationVerdict>;
}

type Check = (content: Buffer, signatures: readonly Buffer[]) => boolean;

const SETTING = 'PAYMENTS_NOTIFICATION_VERIFIER';
const moduleAnswer = z.object({ verified: z.boolean() });

/**
 * `none`; `hmac-sha256` in the form of Standard Webhooks; `rsa-sha256`, the same form with public keys in
 * PEM; or `module:PATH`, whose default export is called with `{ secrets }` and answers an object with
 * `verify(input)` giving `{ verified }`. Throws `PaymentsSettingError`.
 *
 * @param secrets newest first; any of them may have signed.
 */
export async function createNotificationVerifier(
  setting: string,
  secrets: readonly string[],
): Promise<NotificationVerifier> {
  if (setting === 'none') return { verify: async () => ({ result: 'unverified-accepted', verified: false }) };
  if (setting === 'hmac-sha256') return webhookVerifier(hmacMatches(needed(secrets).map(hmacKey)));
  if (setting === 'rsa-sha256') return webhookVerifier(rsaMatches(needed(secrets).map(publicKey)));
  if (setting.startsWith('module:')) return moduleVerifier(setting.slice('module:'.length), secrets);
  throw new PaymentsSettingError(SETTING, 'must be none, hmac-sha256, rsa-sha256 or module:PATH');
}

function webhookVerifier(check: Check): NotificationVerifier {
  return {
    verify: async (input) => {
      const signed = signedNotification(input);
      if ('problem' in signed) return rejected(signed.problem);
      return check(signed.content, signed.signatures) ? VERIFIED : rejected('the signature does not match');
    },
  };
}

async function moduleVerifier(path: string, secrets: readonly string[]): Promise<NotificationVerifier> {
  const verify = methodOf(SETTING, await loadPlugIn(SETTING, path, { secrets }), 'verify');
  return {
    verify: async (input) => {
      try {
        const answer = moduleAnswer.parse(await verify(input));
        return answer.verified ? VERIFIED : rejected('the module rejected it');
      } catch {
        return rejected('the module failed');
      }
    },
  };
}

const VERIFIED: NotificationVerdict = { result: 'verified', verified: true };

function rejected(reason: string): NotificationVerdict {
  return { result: 'rejected', verified: false, reason };
}

function needed(secrets: readonly string[]): readonly string[] {
  if (secrets.length === 0 || secrets.includes(''))
    throw new PaymentsSettingError('PAYMENTS_NOTIFICATION_SECRETS', 'are needed, none of them empty');
  return secrets;
}

/** `whsec_` is Standard Webhooks' mark of a base64 key; anything else is the key itself. */
function hmacKey(secret: string): Buffer {
  if (!secret.startsWith('whsec_')) return Buffer.from(secret, 'utf8');
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  if (key.length > 0) return key;
  throw new PaymentsSettingError('PAYMENTS_NOTIFICATION_SECRETS', 'hold a whsec_ without base64');
}

function publicKey(pem: string): KeyObject {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The same answer as for another kind of key: nothing of the key may be quoted.
  }
  throw new PaymentsSettingError('PAYMENTS_NOTIFICATION_SECRETS', 'must be RSA public keys in PEM');
}
