/** Access and refresh tokens, and the authorization codes that users grant. Lifetimes run on the monotonic clock. */
import type { Runtime } from '../runtime.ts';
import type { Settings } from '../settings.ts';

export type TokenKind = 'application' | 'user';
export type TokenState = 'valid' | 'expired' | 'invalid' | 'missing';

export interface AccessToken {
  token: string;
  kind: TokenKind;
  appId: string;
  openId: string | undefined;
  expiresAtMs: number;
}

interface RefreshToken {
  appId: string;
  openId: string;
  expiresAtMs: number;
  /** A replaced token works once more: the answer with its successor may have been lost. */
  standing: 'current' | 'previous' | 'used-up';
}

export interface UserGrant {
  accessToken: string;
  refreshToken: string;
  openId: string;
}

interface TokenFilter {
  appId?: string | undefined;
  kind?: TokenKind | undefined;
  openId?: string | undefined;
  /** Expires refresh tokens instead of access tokens. */
  refresh?: boolean | undefined;
}

const KEPT_TOKENS = 50_000;

export class Tokens {
  readonly #access = new Map<string, AccessToken>();
  readonly #refresh = new Map<string, RefreshToken>();
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  issueApplication(appId: string, settings: Settings): string {
    return this.#issueAccess('application', appId, undefined, settings);
  }

  issueUser(appId: string, openId: string, settings: Settings): UserGrant {
    const refreshToken = `${settings.secretPrefix}rt-${this.#runtime.random.uuid()}`;
    this.#keep(this.#refresh, refreshToken, {
      appId,
      openId,
      expiresAtMs: this.#runtime.clock.nowMs() + settings.refreshTokenSeconds * 1000,
      standing: 'current',
    });
    return { accessToken: this.#issueUserAccess(appId, openId, settings), refreshToken, openId };
  }

  /** Undefined if `token` is not valid for `appId`. */
  refresh(appId: string, token: string, settings: Settings): UserGrant | undefined {
    const held = this.#refresh.get(token);
    if (!held || held.appId !== appId || held.expiresAtMs <= this.#runtime.clock.nowMs()) return undefined;
    if (held.standing === 'used-up') return undefined;
    if (held.standing === 'previous' && !settings.previousRefreshTokenValid) return undefined;
    if (settings.refreshRotation === 'keep') {
      held.expiresAtMs = this.#runtime.clock.nowMs() + settings.refreshTokenSeconds * 1000;
      const accessToken = this.#issueUserAccess(appId, held.openId, settings);
      return { accessToken, refreshToken: token, openId: held.openId };
    }
    this.#retire(held);
    return this.issueUser(appId, held.openId, settings);
  }

  lookUp(token: string): { state: TokenState; record: AccessToken | undefined } {
    const record = this.#access.get(token);
    if (!record) return { state: 'invalid', record: undefined };
    return { state: record.expiresAtMs > this.#runtime.clock.nowMs() ? 'valid' : 'expired', record };
  }

  /** Expires the matching tokens and returns their number. */
  expire(filter: TokenFilter): number {
    const held: Iterable<Pick<AccessToken, 'appId' | 'openId' | 'expiresAtMs'> & { kind?: TokenKind }> =
      filter.refresh === true ? this.#refresh.values() : this.#access.values();
    let count = 0;
    for (const token of held) {
      if (filter.appId !== undefined && token.appId !== filter.appId) continue;
      if (filter.kind !== undefined && token.kind !== undefined && token.kind !== filter.kind) continue;
      if (filter.openId !== undefined && token.openId !== filter.openId) continue;
      token.expiresAtMs = 0;
      count += 1;
    }
    return count;
  }

  #issueUserAccess(appId: string, openId: string, settings: Settings): string {
    return this.#issueAccess('user', appId, openId, settings);
  }

  #issueAccess(kind: TokenKind, appId: string, openId: string | undefined, settings: Settings): string {
    const token = `${settings.secretPrefix}at-${kind}-${this.#runtime.random.uuid()}`;
    const seconds = kind === 'application' ? settings.applicationTokenSeconds : settings.userTokenSeconds;
    if (settings.earlierAccessTokens === 'revoked') this.expire({ appId, kind, openId });
    const expiresAtMs = this.#runtime.clock.nowMs() + seconds * 1000;
    this.#keep(this.#access, token, { token, kind, appId, openId, expiresAtMs });
    return token;
  }

  /** Makes all current tokens of the user previous. A previous token that was used is used up. */
  #retire(used: RefreshToken): void {
    const spent = used.standing === 'previous';
    for (const other of this.#refresh.values())
      if (other.appId === used.appId && other.openId === used.openId && other.standing === 'current')
        other.standing = 'previous';
    if (spent) used.standing = 'used-up';
  }

  #keep<Value>(store: Map<string, Value>, key: string, value: Value): void {
    store.set(key, value);
    const oldest = store.size > KEPT_TOKENS ? store.keys().next().value : undefined;
    if (oldest !== undefined) store.delete(oldest);
  }
}

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
