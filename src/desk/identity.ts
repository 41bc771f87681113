/**
 * Who uses the desk: a person whom an OpenID provider signs in, or the holder of a key, who get a session; a person whom a
 * proxy names; or, without keys, the caller of a test. Forms carry a token of the browser's session, and are accepted only from the desk's own pages.
 */
import csrfProtection from '@fastify/csrf-protection';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Pausable } from '../client/leases.ts';
import type { ApiConfig } from '../config/api-config.ts';
import { type Caller, TEST_CALLER } from '../config/callers.ts';
import { findKey, type HashedKey, keyHash } from '../config/keys.ts';
import { HOUR_MS } from '../domain/time.ts';
import type { ReloadedCallers } from '../http/authentication.ts';
import {
  authenticate,
  hasExpired,
  isAcceptedFrom,
  requireOneHeader,
  requireUnexpired,
  withKey,
} from '../http/authentication.ts';
import { CookieSessions } from '../pages/sessions.ts';
import { isJsonObject } from '../payments/exact-json.ts';
import { membersOf } from '../runtime/addresses.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { Problem, tooManyRequests } from '../service/problem.ts';
import type { Counts } from './counts.ts';
import { OpenIdProvider } from './openid.ts';

/** A signed-in user, with the permissions of a caller. */
export interface Visit {
  /** Its `name` is the user's. */
  caller: Caller;
  formToken: string;
  canSignOut: boolean;
  /** The pauses of the caller's applications; undefined if they could not be read, absent if they were not. */
  pauses?: readonly Pausable[] | undefined;
  /** What waits in the inbox; undefined if it could not be read, or the caller cannot list. Only on pages. */
  counts?: Counts | undefined;
}

declare module '@fastify/secure-session' {
  interface SessionData {
    /** The user whom the provider or the proxy has named. */
    person: string;
  }
}

/** The proxy proves by it that the request is its own. */
const PROXY_SECRET_HEADER = 'x-payouts-proxy-secret';

const visits = new WeakMap<FastifyRequest, Visit>();

/** Undefined if the request is of a visitor who has not signed in: before, or without, `admit`. */
export function visitOf(request: FastifyRequest): Visit | undefined {
  return visits.get(request);
}

/** The visit of a request that was admitted. */
export function admittedVisit(request: FastifyRequest): Visit {
  const visit = visits.get(request);
  if (!visit) throw new Error('the request was not admitted');
  return visit;
}

/** In the address of a page that the browser loads again by itself, which must not keep a session alive. */
export const AUTOMATIC = { live: 'on' } as const;

function isAutomatic({ query }: FastifyRequest): boolean {
  return isJsonObject(query) && query['live'] === AUTOMATIC.live;
}

export class Identity {
  readonly #callers: ReloadedCallers;
  readonly #config: ApiConfig;
  readonly #isProxy: (address: string) => boolean;
  readonly #proxySecrets: readonly HashedKey[];
  readonly #sessions: CookieSessions;
  /** Undefined: people sign in otherwise. */
  readonly provider: OpenIdProvider | undefined;

  constructor(callers: ReloadedCallers, config: ApiConfig, runtime: Runtime) {
    this.#callers = callers;
    this.#config = config;
    this.#isProxy = membersOf(config.PAYOUTS_DESK_PROXIES);
    this.#proxySecrets = config.PAYOUTS_DESK_PROXY_SECRETS.map((one) => ({ hash: keyHash(one) }));
    this.provider = config.openId && new OpenIdProvider(config.openId, runtime.clock);
    const { PAYMENTS_ENVIRONMENT, PAYOUTS_DESK_SESSION_KEYS } = config;
    const options = {
      name: 'payouts_desk',
      path: '/desk',
      // The provider leads the browser back; behind a proxy, a link on a page of another site does not replace the tokens of
      // the forms that are open.
      sameSite: this.takesKeys ? 'strict' : 'lax',
      keys: PAYOUTS_DESK_SESSION_KEYS,
      isSecure: ({ protocol }: FastifyRequest) => protocol === 'https' || PAYMENTS_ENVIRONMENT !== 'test',
      maxMs: 8 * HOUR_MS,
      idleMs: HOUR_MS / 2,
    } as const;
    this.#sessions = new CookieSessions(options, runtime);
  }

  /** Gives the requests of the scope sessions, and `csrfProtection` to its forms. */
  async serve(scope: FastifyInstance): Promise<void> {
    const { PAYOUTS_DESK_URL: url } = this.#config;
    const host = url && new URL(url).host;
    // Before a session, so that a page of another name for this address gets none.
    if (host !== undefined)
      scope.addHook('onRequest', async (request) => {
        if (request.host !== host) throw new Problem('malformed-request', 'the desk is at another host');
      });
    await this.#sessions.serve(scope);
    await scope.register(csrfProtection, {
      sessionPlugin: '@fastify/secure-session',
      // Anyone can send forms without a token.
      logLevel: 'trace',
      getToken: ({ body }) => {
        const { formToken } = isJsonObject(body) ? body : {};
        return typeof formToken === 'string' ? formToken : undefined;
      },
    });
  }

  /**
   * Counts a request of a person. Throws a 401 unless the person has signed in, a 403 if the proxy names somebody who has no
   * permissions, and a 429 beyond the request limit of the caller.
   */
  admit(request: FastifyRequest, reply: FastifyReply): Visit {
    const caller = this.callerOf(request);
    authenticate(request, caller);
    const visit = { caller, formToken: reply.generateCsrf(), canSignOut: this.hasSessions };
    visits.set(request, visit);
    this.#callers.limits.takeRequest(caller);
    return visit;
  }

  get takesKeys(): boolean {
    const isNamed = this.#config.PAYOUTS_DESK_USER_HEADER !== undefined || this.provider !== undefined;
    return this.#callers.keys.length > 0 && !isNamed;
  }

  /** Whether people sign in here, and out. */
  get hasSessions(): boolean {
    return this.takesKeys || this.provider !== undefined;
  }

  /** Starts a session. Throws a 401 for a key that is unknown or has expired, and a 429 after too many of them. */
  signIn(request: FastifyRequest, key: string): void {
    const succeeded = this.#attempt(request);
    const { caller, hash } = withKey(this.#callers, request, key);
    succeeded();
    authenticate(request, caller);
    this.#sessions.start(request, hash.toString('base64'));
  }

  /**
   * Starts a session of the person whom the provider has signed in, and returns the page that comes next. Throws a 403 if there
   * is none, or if no caller lists a role of the person.
   */
  async signInPerson(request: FastifyRequest, provider: OpenIdProvider): Promise<string> {
    const succeeded = this.#attempt(request);
    const { name, roles, next } = await provider.complete(request);
    succeeded();
    const { keys } = this.#callers;
    // Who has the name of a caller could approve what that caller started, or the other way round.
    if (keys.some(({ caller }) => caller.name === name.toLowerCase()))
      throw new Problem('user-not-listed', 'a caller has the name of this person');
    const found = keys.find(
      ({ caller }) =>
        !hasExpired(caller) &&
        isAcceptedFrom(caller, request.ip) &&
        caller.roles?.some((role) => roles.includes(role)),
    );
    const role = found?.caller.roles?.find((one) => roles.includes(one));
    if (!found || role === undefined)
      throw new Problem('user-not-listed', `${name} has no role that opens the desk`);
    authenticate(request, personOf(found.caller, name));
    this.#sessions.start(request, role);
    request.session.set('person', name);
    return next;
  }

  #attempt(request: FastifyRequest): () => void {
    return this.#sessions.attempt(request, (waitMs) =>
      tooManyRequests('too many failed sign-ins from this address', waitMs),
    );
  }

  signOut(reply: FastifyReply): void {
    this.#sessions.end(reply);
  }

  /** Without a count. Throws what `admit` throws, except the 429. */
  callerOf(request: FastifyRequest): Caller {
    if (this.takesKeys) return this.#signedIn(request, (key, { hash }) => hash.toString('base64') === key);
    if (this.provider) {
      const caller = this.#signedIn(request, (role, entry) => entry.caller.roles?.includes(role) ?? false);
      const person = request.session.get('person');
      if (person === undefined) throw noSession();
      return personOf(caller, person);
    }
    const header = this.#config.PAYOUTS_DESK_USER_HEADER;
    const caller = header === undefined ? TEST_CALLER : this.#namedBy(request, header);
    // One user's forms must not work for another user.
    if (request.session.get('person') !== caller.name) {
      request.session.regenerate();
      request.session.set('person', caller.name);
    }
    return caller;
  }

  /**
   * A key or role that was removed, or has expired, ends its sessions. A stolen session works from no other address than its
   * key.
   */
  #signedIn(request: FastifyRequest, isOf: (credential: string, entry: Entry) => boolean): Caller {
    const credential = this.#sessions.use(request, { renews: !isAutomatic(request) });
    const entry = credential && this.#callers.keys.find((one) => isOf(credential, one));
    if (!entry || !isAcceptedFrom(entry.caller, request.ip)) throw noSession();
    return requireUnexpired(entry).caller;
  }

  #namedBy(request: FastifyRequest, header: string): Caller {
    requireOneHeader(request, header);
    requireOneHeader(request, PROXY_SECRET_HEADER);
    const given = this.#isFromProxy(request) ? request.headers[header] : undefined;
    if (typeof given !== 'string' || given === '')
      throw new Problem('user-not-named', 'the proxy in front of the desk names no user');
    const name = given.toLowerCase();
    const entry = this.#callers.keys.find(({ caller }) => caller.users?.includes(name));
    if (!entry || !isAcceptedFrom(entry.caller, request.ip))
      throw new Problem('user-not-listed', 'no caller in PAYOUTS_API_KEYS_FILE lists this user');
    return personOf(requireUnexpired(entry).caller, name);
  }

  /** An address alone proves little: other programs may share it, or take it over. */
  #isFromProxy({ socket: { remoteAddress = '' }, headers }: FastifyRequest): boolean {
    const secret = headers[PROXY_SECRET_HEADER];
    return (
      this.#isProxy(remoteAddress) &&
      typeof secret === 'string' &&
      findKey(this.#proxySecrets, secret) !== undefined
    );
  }
}

type Entry = ReloadedCallers['keys'][number];

function noSession(): Problem {
  return new Problem('key-missing', 'sign in first: there is no session, or it has ended');
}

/** With the user's own name, so that decisions and the audit trail name the user. */
function personOf(caller: Caller, name: string): Caller {
  return { ...caller, name, actsFor: caller.name };
}

/** Throws a 403 for a form of a page of another origin. Every browser sends the origin with a form. */
export function requireOwnOrigin({ headers, host }: FastifyRequest): void {
  const { origin, 'sec-fetch-site': site = 'same-origin', 'sec-fetch-mode': mode = 'navigate' } = headers;
  if (
    origin === undefined ||
    !URL.canParse(origin) ||
    new URL(origin).host !== host ||
    site !== 'same-origin' ||
    // The desk has no scripts, but other pages of this server may.
    mode !== 'navigate'
  )
    throw new Problem('form-not-accepted', 'the form is not from a page of this server');
}
