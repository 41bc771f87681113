/** Key rings for tests, in the format of the environment variables. */
import { randomBytes } from 'node:crypto';

export function newKey(keyId: string): string {
  return `${keyId}:${randomBytes(32).toString('base64')}`;
}
