/**
 * Verifies that a notification comes from the provider. The spec does not define a scheme. A notification is only a
 * hint, verified or not, but a rejected one is dropped (H32).
 */
import { createPublicKey } from 'node:crypto';
import { z } from 'zod';
import { PaymentsSettingError } from './errors.ts';
import { loadPlugIn, methodOf, rsaKey } from './plug-in.ts';
import { hmacMatches, type NotificationInput, rsaMatches, signedNotification } from './standard-webhooks.ts';

interface NotificationVerdict {
  result: 'verified' | 'unverified-accepted' | 'rejected';
  /** True for `verified` only. */
  verified: boolean;
  /** Why the notification was rejected. Contains none of it. */
  reason?: string;
}

export interface NotificationVerifier {
  /** Never rejects. */
  verify(input: NotificationInput): Promise<NotificationVerdict>;
}

type Check = (content: Buffer, signatures: readonly Buffer[]) => boolean;

const SETTING = 'PAYMENTS_NOTIFICATION_VERIFIER';
const SECRETS = 'PAYMENTS_NOTIFICATION_SECRETS';
const moduleAnswer = z.object({ verified: z.boolean() });

/**
 * Creates a verifier: `none`; `hmac-sha256` as in Standard Webhooks; `rsa-sha256`, the same format with public keys in
 * PEM; or `module:PATH`, whose default export is called with `{ secrets }` and returns an object with a method
 * `verify(input)` that returns `{ verified }`. Throws `PaymentsSettingError`. The spec's section "Events" does not
 * define how to verify notifications.
 *
 * @param secrets newest first. A signature by any of them is valid.
 */
export async function createNotificationVerifier(
  setting: string,
  secrets: readonly string[],
): Promise<NotificationVerifier> {
  if (setting === 'none') return { verify: async () => ({ result: 'unverified-accepted', verified: false }) };
  if (setting === 'hmac-sha256') return webhookVerifier(hmacMatches(requireSecrets(secrets).map(hmacKey)));
  if (setting === 'rsa-sha256')
    return webhookVerifier(
      rsaMatches(
        requireSecrets(secrets).map((pem) => rsaKey(SECRETS, 'RSA public keys', createPublicKey, pem)),
      ),
    );
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

function requireSecrets(secrets: readonly string[]): readonly string[] {
  if (secrets.length === 0 || secrets.includes(''))
    throw new PaymentsSettingError(SECRETS, 'must have at least one secret, and none may be empty');
  return secrets;
}

/** In Standard Webhooks, the prefix `whsec_` marks a base64 key. Any other text is the key itself. */
function hmacKey(secret: string): Buffer {
  if (!secret.startsWith('whsec_')) return Buffer.from(secret, 'utf8');
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  if (key.length > 0) return key;
  throw new PaymentsSettingError(SECRETS, 'contain a whsec_ secret that is not base64');
}
