/** Key rings for tests, in the format of the environment variables, and other secrets that a process accepts outside a test. */
import { randomBytes } from 'node:crypto';

export function newKey(keyId: string): string {
  return `${keyId}:${randomBytes(32).toString('base64')}`;
}

export function newSecret(): string {
  return randomBytes(32).toString('hex');
}
