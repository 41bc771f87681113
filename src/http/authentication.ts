/** Authenticates requests: finds the caller of a bearer key, and limits the requests of callers and of unknown keys. */
import { readFile } from 'node:fs/promises';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { type Caller, type Callers, TEST_CALLER } from '../config/callers.ts';
import { ConfigError } from '../config/environment.ts';
import { bearerKey, findKey, type HashedKey } from '../config/keys.ts';
import { membersOf, networkOf } from '../runtime/addresses.ts';
import type { Clock } from '../runtime/runtime.ts';
import { TokenBuckets } from '../runtime/token-buckets.ts';
import { Problem, retryAfter, tooManyRequests } from '../service/problem.ts';

const authenticated = new WeakMap<FastifyRequest, Caller>();

export function authenticatedCaller(request: FastifyRequest): Caller | undefined {
  return authenticated.get(request);
}

export function admittedCaller(request: FastifyRequest): Caller {
  const caller = authenticated.get(request);
  if (!caller) throw new Error('the request was not authenticated');
  return caller;
}

/**
 * Throws a 401 if the key is missing or unknown, a 400 if there are several, and a 429 if the address has sent too many
 * unknown keys.
 */
export function callerOf(callers: ReloadedCallers, request: FastifyRequest): Caller {
  return authenticate(request, callers.keys.length === 0 ? TEST_CALLER : byKey(callers, request));
}

/** Records the caller of a request for the audit trail. */
export function authenticate(request: FastifyRequest, caller: Caller): Caller {
  authenticated.set(request, caller);
  return caller;
}

function byKey(callers: ReloadedCallers, request: FastifyRequest): Caller {
  requireOneHeader(request, 'authorization');
  const key = bearerKey(request.headers.authorization);
  if (key === undefined)
    throw new Problem('key-missing', 'a key is required: send the header authorization: Bearer KEY');
  return withKey(callers, request, key).caller;
}

/**
 * The entry of a key that the request contains. Throws a 401 if the key is unknown, at least from this address, or has
 * expired, and a 429 if the address has sent too many unknown keys.
 */
export function withKey(
  { keys, limits }: ReloadedCallers,
  { ip }: FastifyRequest,
  key: string,
): Callers['keys'][number] {
  const found = findKey(keys, key);
  const known = found && isAcceptedFrom(found.caller, ip) ? found : undefined;
  limits.checkKey(ip, known);
  if (!known)
    throw new Problem(
      'key-unknown',
      'the key is unknown: check that it is complete, or ask the operator for one',
    );
  return requireUnexpired(known);
}

/** Whether the key works from the client's address, as `trustProxy` derives it. */
export function isAcceptedFrom({ addresses }: Caller, ip: string): boolean {
  return addresses === undefined || membersOf(addresses)(ip);
}

export function requireUnexpired<Entry extends { caller: Caller }>(entry: Entry): Entry {
  if (hasExpired(entry.caller)) throw new Problem('key-expired', 'the bearer key has expired');
  return entry;
}

export function hasExpired({ expiresAt }: Caller): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now();
}

/** Node uses the first of several, and a proxy may use the last. Throws a 400. */
export function requireOneHeader({ raw: { rawHeaders } }: FastifyRequest, name: string): void {
  const names = rawHeaders.filter((_, at) => at % 2 === 0);
  if (names.filter((each) => each.toLowerCase() === name).length > 1)
    throw new Problem('malformed-request', `the header ${name} is repeated`);
}

/** Reads the callers again when `PAYOUTS_API_KEYS_FILE` changes, so that a removed key stops working without a restart. */
const INTERVAL_MS = 1_000;

/** Compares contents, not times: a file system may give two versions the same time, and a mounted secret is a link. */
export class ReloadedCallers implements Callers {
  readonly limits: RequestLimits;
  private callers: Callers;
  private readonly log: FastifyBaseLogger;
  private content: string | undefined;
  private readonly timer: NodeJS.Timeout | undefined;

  constructor(callers: Callers, log: FastifyBaseLogger, limits: RequestLimits) {
    this.callers = callers;
    this.log = log;
    this.limits = limits;
    const { file } = callers;
    if (file) this.timer = setInterval(() => void this.check(file), INTERVAL_MS).unref();
  }

  get keys(): Callers['keys'] {
    return this.callers.keys;
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async check({ path, read }: NonNullable<Callers['file']>): Promise<void> {
    const content = await readFile(path, 'utf8').catch(() => '');
    if (content === this.content) return;
    this.content = content;
    try {
      this.callers = read();
      const names = this.callers.keys.map(({ caller }) => caller.name);
      this.log.info({ callers: names }, 'callers are loaded');
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const { problems } = error;
      this.log.error({ problems }, 'the keys file is not usable: the earlier keys stay valid');
    }
  }
}

/** For one process. Too few to guess even a short key, and enough that a program with a removed key does not block its neighbors. */
const UNKNOWN_KEYS = { burst: 100, refillMs: 50 };
/** A full bucket allows the requests of this many seconds. */
const BURST_SECONDS = 2;
const MAX_USED_KEYS = 10_000;

/** `key`: of the caller. `address`: of its unknown keys. */
export type RequestLimit = 'key' | 'address';

interface RequestLimitsOptions {
  /** The limit of a caller that has none of its own. */
  requestsPerSecond: number;
  clock: Clock;
  onLimited(limit: RequestLimit): void;
}

export class RequestLimits {
  private readonly options: RequestLimitsOptions;
  private readonly unknownKeys: TokenBuckets;
  /** By requests per second; the buckets are those of the callers, by name: a reload of the keys file keeps them. */
  private readonly requests = new Map<number, TokenBuckets>();
  /** Keys with the addresses that have used them, in the order of their last use. */
  private readonly usedKeys = new Set<string>();

  constructor(options: RequestLimitsOptions) {
    this.options = options;
    this.unknownKeys = new TokenBuckets(UNKNOWN_KEYS, options.clock);
  }

  /** Counts a request of the caller. Throws a 429 beyond its limit. */
  takeRequest(caller: Pick<Caller, 'name' | 'requestsPerSecond'>): void {
    const perSecond = caller.requestsPerSecond ?? this.options.requestsPerSecond;
    if (perSecond === 'any') return;
    const size = { burst: perSecond * BURST_SECONDS, refillMs: 1_000 / perSecond };
    const buckets = this.requests.get(perSecond) ?? new TokenBuckets(size, this.options.clock);
    this.requests.set(perSecond, buckets);
    if (buckets.take(caller.name)) return;
    this.options.onLimited('key');
    const detail = 'this key has sent too many requests';
    throw new Problem('request-limit-exceeded', detail, retryAfter(buckets.waitMs(caller.name)));
  }

  /**
   * Counts an unknown key. Beyond the limit of its address, throws a 429 for each key that the address has not used before,
   * known or not, so that the response to a guess reveals nothing.
   */
  checkKey(address: string, known: HashedKey | undefined): void {
    const network = networkOf(address);
    const used = known && `${known.hash.toString('base64')} ${network}`;
    const waitMs = this.unknownKeys.waitMs(network);
    if (waitMs > 0 && !(used && this.usedKeys.has(used))) {
      this.options.onLimited('address');
      throw tooManyRequests('too many unknown keys from this address', waitMs);
    }
    if (used) this.remember(used);
    else this.unknownKeys.take(network);
  }

  get size(): number {
    return this.usedKeys.size;
  }

  private remember(used: string): void {
    this.usedKeys.delete(used);
    this.usedKeys.add(used);
    const [oldest] = this.usedKeys;
    if (this.usedKeys.size > MAX_USED_KEYS && oldest !== undefined) this.usedKeys.delete(oldest);
  }
}
