/** Key rings for tests, as a process reads them from its environment. */
import { randomBytes } from 'node:crypto';

export function newKey(keyId: string): string {
  return `${keyId}:${randomBytes(32).toString('base64')}`;
}
