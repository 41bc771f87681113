/**
 * The API key of a file (`TEMPORAL_API_KEY=file:PATH`), read again when the file changes: a key of Temporal Cloud expires, and
 * its successor is used without a restart.
 */
import { watchFile } from 'node:fs';
import type { Environment } from '../config/environment.ts';
import { readSecret } from '../config/values.ts';

const PREFIX = 'file:';
/** Temporal Cloud accepts the old key until it is deleted or expires. */
const LOOK_EVERY_MS = 2_000;

export class ApiKeyFile {
  private readonly reference: string;
  private key: string;

  /** `key`: what the file holds now. `changed` gets each later key. */
  constructor(reference: string, key: string, changed: (key: string) => void = () => undefined) {
    this.reference = reference;
    this.key = key;
    // Does not keep the process running. It also sees the exchange of a symbolic link, as Kubernetes does it.
    const options = { persistent: false, interval: LOOK_EVERY_MS };
    watchFile(reference.slice(PREFIX.length), options, () => this.readAgain(changed));
  }

  get current(): string {
    return this.key;
  }

  /** A file that is missing or empty for a moment changes nothing. */
  private readAgain(changed: (key: string) => void): void {
    const read = readSecret(this.reference);
    if (!read.ok || read.value === this.key) return;
    this.key = read.value;
    changed(this.key);
  }
}

/** The reference to the file, if the API key is in one. */
export function apiKeyReference(environment: Environment): string | undefined {
  const text = environment['TEMPORAL_API_KEY'];
  return text?.startsWith(PREFIX) ? text : undefined;
}
