/**
 * Who uses the desk: the holder of a key, who gets a session for it; a person whom a proxy names; or, without keys, the
 * caller of a test. Forms carry a token that is bound to the browser's cookie, and count from this desk's own pages only.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Pausable } from '../client/pauses.ts';
import type { ApiConfig } from '../config/api-config.ts';
import { type Caller, type Callers, TEST_CALLER } from '../config/callers.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { ReloadedCallers } from '../http/authentication.ts';
import { authenticate, requireOneHeader, requireUnexpired, withKey } from '../http/authentication.ts';
import { Sessions, SignInLimit } from '../pages/sessions.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { Problem, tooManyRequests } from '../service/problem.ts';

const LIMITS = { maxMs: 8 * HOUR_MS, idleMs: HOUR_MS / 2 };
const SESSION = 'payouts_desk';
/** Of a browser without a session: its value means nothing but that forms come from the same browser. */
const BROWSER = 'payouts_desk_browser';
const BROWSER_ID = /^[\w-]{43}$/;

/** A signed-in person, with the permissions of a caller. */
export interface Visit {
  /** Its `name` is that of the person. */
  caller: Caller;
  /** For the forms of the page. */
  formToken: string;
  canSignOut: boolean;
  /** The pauses of the caller's applications; undefined if they could not be read. Only on pages. */
  pauses?: readonly Pausable[] | undefined;
}

interface KeyHolder {
  keyName: string;
  hash: Buffer;
}

type Config = Pick<ApiConfig, 'PAYMENTS_ENVIRONMENT' | 'PAYOUTS_API_PROXIES' | 'PAYOUTS_DESK_USER_HEADER'>;

const visits = new WeakMap<FastifyRequest, Visit>();

/** Undefined if the request is of a visitor who has not signed in: before, or without, `admit`. */
export function visitOf(request: FastifyRequest): Visit | undefined {
  return visits.get(request);
}

/** Of a request that was admitted. */
export function admittedVisit(request: FastifyRequest): Visit {
  const visit = visits.get(request);
  if (!visit) throw new Error('the request was not admitted');
  return visit;
}

export class Identity {
  readonly #callers: ReloadedCallers;
  readonly #config: Config;
  readonly #proxies: BlockList;
  readonly #sessions: Sessions<KeyHolder>;
  readonly #limit: SignInLimit;
  readonly #secret = randomBytes(32);

  constructor(callers: ReloadedCallers, config: Config, runtime: Runtime) {
    this.#callers = callers;
    this.#config = config;
    this.#proxies = networks(config.PAYOUTS_API_PROXIES);
    this.#sessions = new Sessions(LIMITS, runtime);
    this.#limit = new SignInLimit(runtime.clock);
  }

  /**
   * Counts a request of a person. Throws a 401 unless the person has signed in, a 403 if the proxy names somebody who has no
   * permissions, and a 429 beyond the request limit of the caller.
   */
  admit(request: FastifyRequest, reply: FastifyReply): Visit {
    const { caller, cookie, canSignOut } = this.#who(request, reply);
    const visit = { caller, canSignOut, formToken: this.#tokenOf(cookie, caller.name) };
    authenticate(request, caller);
    visits.set(request, visit);
    this.#callers.limits.takeRequest(caller);
    return visit;
  }

  /** Whether people sign in with keys. */
  get takesKeys(): boolean {
    return this.#callers.keys.length > 0 && this.#config.PAYOUTS_DESK_USER_HEADER === undefined;
  }

  /** For the sign-in form. */
  visitor(request: FastifyRequest, reply: FastifyReply): Pick<Visit, 'formToken'> {
    return { formToken: this.#tokenOf(this.#browserId(request, reply), '') };
  }

  /** Starts a session. Throws a 401 for a key that is unknown or has expired, and a 429 after too many of them. */
  signIn(request: FastifyRequest, reply: FastifyReply, key: string): void {
    const waitMs = this.#limit.waitMs(request.ip);
    if (waitMs > 0) throw tooManyRequests('too many failed sign-ins from this address', waitMs);
    const { caller, hash } = this.#byKey(request, key);
    authenticate(request, caller);
    this.#endSession(request);
    const id = this.#sessions.start({ keyName: caller.name, hash });
    reply.setCookie(SESSION, id, {
      ...this.#cookie(request, 'strict'),
      maxAge: LIMITS.maxMs / 1_000,
    });
  }

  signOut(request: FastifyRequest, reply: FastifyReply): void {
    this.#endSession(request);
    reply.clearCookie(SESSION, this.#cookie(request, 'strict'));
  }

  /** Throws a 403 for a form that is not from this browser's own page of the desk. `token`: the form's `formToken`. */
  requireOwnForm(request: FastifyRequest, token: string | undefined): void {
    const { caller } = visits.get(request) ?? {};
    const cookie = request.cookies[caller && this.takesKeys ? SESSION : BROWSER] ?? '';
    const expected = Buffer.from(this.#tokenOf(cookie, caller?.name ?? ''));
    const given = Buffer.from(token ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw new Problem('form-not-accepted', 'the form is not from a page of this session');
  }

  #byKey(request: FastifyRequest, key: string): Callers['keys'][number] {
    try {
      return withKey(this.#callers, request, key);
    } catch (error) {
      this.#limit.countFailure(request.ip);
      throw error;
    }
  }

  #who(
    request: FastifyRequest,
    reply: FastifyReply,
  ): { caller: Caller; cookie: string; canSignOut: boolean } {
    if (this.takesKeys) return { ...this.#ofSession(request), canSignOut: true };
    const header = this.#config.PAYOUTS_DESK_USER_HEADER;
    const caller = header === undefined ? TEST_CALLER : this.#namedBy(request, header);
    return { caller, cookie: this.#browserId(request, reply), canSignOut: false };
  }

  /** A key that was removed, or has expired, ends its sessions. */
  #ofSession({ cookies }: FastifyRequest): { caller: Caller; cookie: string } {
    const cookie = cookies[SESSION] ?? '';
    const holder = this.#sessions.use(cookie);
    const entry = holder && this.#callers.keys.find(({ hash }) => hash.equals(holder.hash));
    if (!entry) throw new Problem('key-missing', 'sign in first: there is no session, or it has ended');
    return { caller: requireUnexpired(entry).caller, cookie };
  }

  #namedBy(request: FastifyRequest, header: string): Caller {
    requireOneHeader(request, header);
    const given = this.#isFromProxy(request) ? request.headers[header] : undefined;
    if (typeof given !== 'string' || given === '')
      throw new Problem('user-not-named', 'the proxy in front of the desk names no user');
    const name = given.toLowerCase();
    const entry = this.#callers.keys.find(({ caller }) => caller.users?.includes(name));
    if (!entry) throw new Problem('user-not-listed', 'no caller in PAYOUTS_API_KEYS_FILE lists this user');
    // The person's name, so that decisions and the audit trail name the person.
    const { caller } = requireUnexpired(entry);
    return { ...caller, name, actsFor: caller.name };
  }

  #isFromProxy({ socket }: FastifyRequest): boolean {
    const address = (socket.remoteAddress ?? '').replace(/^::ffff:(?=[\d.]+$)/i, '');
    return address !== '' && this.#proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  }

  #browserId(request: FastifyRequest, reply: FastifyReply): string {
    const known = request.cookies[BROWSER];
    if (known !== undefined && BROWSER_ID.test(known)) return known;
    const id = randomBytes(32).toString('base64url');
    // Lax, so that a link on a page of another site does not replace it.
    reply.setCookie(BROWSER, id, this.#cookie(request, 'lax'));
    return id;
  }

  #endSession({ cookies }: FastifyRequest): void {
    const id = cookies[SESSION];
    if (id !== undefined) this.#sessions.end(id);
  }

  #tokenOf(cookie: string, name: string): string {
    return createHmac('sha256', this.#secret).update(`${cookie}\n${name}`).digest('base64url');
  }

  #cookie(request: FastifyRequest, sameSite: 'strict' | 'lax') {
    const secure = request.protocol === 'https' || this.#config.PAYMENTS_ENVIRONMENT !== 'test';
    return { path: '/desk', httpOnly: true, sameSite, secure } as const;
  }
}

/** Throws a 403 for a form of a page of another origin. Every browser sends the origin with a form. */
export function requireOwnOrigin({ headers, host }: FastifyRequest): void {
  const { origin, 'sec-fetch-site': site = 'same-origin' } = headers;
  if (
    origin === undefined ||
    !URL.canParse(origin) ||
    new URL(origin).host !== host ||
    site !== 'same-origin'
  )
    throw new Problem('form-not-accepted', 'the form is not from a page of this server');
}

function networks(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const one of addresses) {
    const [address = '', bits] = one.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
