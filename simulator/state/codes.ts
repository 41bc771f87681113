/** Authorization codes: 30 minutes, once only. */
import type { Settings } from '../settings.ts';
import type { Surroundings } from '../surroundings.ts';

interface Code {
  appId: string;
  openId: string;
  expiresAtMs: number;
}

export class AuthorizationCodes {
  readonly #codes = new Map<string, Code>();
  readonly #surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  issue(appId: string, openId: string, { secretPrefix, codeSeconds }: Settings): string {
    const { clock, random } = this.#surroundings;
    const code = `${secretPrefix}code-${random.uuid()}`;
    this.#codes.set(code, { appId, openId, expiresAtMs: clock.nowMs() + codeSeconds * 1000 });
    return code;
  }

  /** The user who granted it, once; another application's attempt does not spend the code. */
  redeem(appId: string, code: string): string | undefined {
    const held = this.#codes.get(code);
    if (!held || held.appId !== appId) return undefined;
    this.#codes.delete(code);
    return held.expiresAtMs > this.#surroundings.clock.nowMs() ? held.openId : undefined;
  }
}
