/** Authorization codes: valid for 30 minutes by default, and only once. */

import type { Runtime } from '../runtime.ts';
import type { Settings } from '../settings.ts';

interface Code {
  appId: string;
  openId: string;
  expiresAtMs: number;
}

export class AuthorizationCodes {
  readonly #codes = new Map<string, Code>();
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  issue(appId: string, openId: string, { secretPrefix, codeSeconds }: Settings): string {
    const { clock, random } = this.#runtime;
    const code = `${secretPrefix}code-${random.uuid()}`;
    this.#codes.set(code, { appId, openId, expiresAtMs: clock.nowMs() + codeSeconds * 1000 });
    return code;
  }

  /** Returns the user who granted the code, once. An attempt by another application does not use it up. */
  redeem(appId: string, code: string): string | undefined {
    const held = this.#codes.get(code);
    if (!held || held.appId !== appId) return undefined;
    this.#codes.delete(code);
    return held.expiresAtMs > this.#runtime.clock.nowMs() ? held.openId : undefined;
  }
}
