import { randomUUID } from 'node:crypto';

/** A fresh number of the service, well under the 64 characters that the spec allows. */
export function newId(prefix: string): string {
  return `${prefix}${randomUUID().replaceAll('-', '')}`;
}
