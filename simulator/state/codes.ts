/** Authorization codes: 30 minutes, once only. */
import { randomUUID } from 'node:crypto';
import { monotonicMs } from '../clock.ts';
import type { Settings } from '../settings.ts';

interface Code {
  appId: string;
  openId: string;
  expiresAtMs: number;
}

export class AuthorizationCodes {
  readonly #codes = new Map<string, Code>();

  issue(appId: string, openId: string, { secretPrefix, codeSeconds }: Settings): string {
    const code = `${secretPrefix}code-${randomUUID()}`;
    this.#codes.set(code, { appId, openId, expiresAtMs: monotonicMs() + codeSeconds * 1000 });
    return code;
  }

  /** The user who granted it, once; another application's attempt does not spend the code. */
  redeem(appId: string, code: string): string | undefined {
    const held = this.#codes.get(code);
    if (!held || held.appId !== appId) return undefined;
    this.#codes.delete(code);
    return held.expiresAtMs > monotonicMs() ? held.openId : undefined;
  }
}
