/**
 * User authorization (spec: User authorization page). A caller gets a link, which starts one attempt in one browser; the
 * attempt continues on the provider's page and returns once, in the same browser. The browser's routes are public, so a
 * workflow starts only for a valid link and for a valid return.
 */
import { createHash } from 'node:crypto';
import {
  type Client,
  isGrpcDeadlineError,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandleWithFirstExecutionRunId,
} from '@temporalio/client';
import { authorizationWorkflowId, PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import type { AuthorizationOutcome } from '../contract/tokens.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import { KeyRing, TokenSeal } from '../encryption/key-ring.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Random, Runtime } from '../runtime/runtime.ts';
import { TokenBuckets } from '../runtime/token-buckets.ts';
import { ownResult } from '../temporal/histories.ts';

/**
 * `refused`: the link or the callback was already used, has expired, or is not ours or this browser's. `busy`: authorizations
 * exceed their rate limit, and nothing was done. `exchanging`: the exchange takes longer than the browser waits, and goes on.
 */
export class AuthorizationError extends Error {
  override readonly name = 'AuthorizationError';
  readonly kind: 'refused' | 'busy' | 'exchanging';

  constructor(kind: AuthorizationError['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface AuthorizationsOptions {
  client: Client;
  environment: string;
  keys: KeyRing | undefined;
  /** How long the browser waits for the outcome, in milliseconds. Default 30 s. */
  outcomeWithinMs?: number;
  /** Default: those of this process. */
  runtime?: Runtime;
}

/** How long the address of the provider's page is cached. It changes only with the workers' settings. */
const PAGE_FRESH_MS = 5 * 60_000;
const TEMPORAL_TIMEOUT_MS = 10_000;
const OUTCOME_WITHIN_MS = 30_000;
/** The rate limit for exchanges and for lookups of the provider's page, each. */
const LIMIT = { burst: 20, refillMs: 1_000 };
const MAX_REMEMBERED = 10_000;
/** After the workflow tasks of payouts. */
const LOWEST_PRIORITY = { priorityKey: 5 } as const;

/** Temporal refuses a second workflow with the id, even after the first has ended. */
const ONCE = { workflowIdReusePolicy: 'REJECT_DUPLICATE', workflowIdConflictPolicy: 'FAIL' } as const;

const EXPIRED: AuthorizationOutcome = {
  outcome: 'EXPIRED',
  sentence: 'This took longer than 30 minutes. Please start again.',
};
const DENIED: AuthorizationOutcome = {
  outcome: 'DENIED',
  sentence: 'Access was not granted. Nothing has changed.',
};

export interface AuthorizeLink {
  /** On the host of the redirect URI, whose cookie the callback needs. */
  url: URL;
  expiresAtMs: number;
}

interface Page {
  url: string;
  freshUntilMs: number;
}

export class Authorizations {
  private readonly options: AuthorizationsOptions;
  private readonly runtime: Runtime;
  private readonly seal: TokenSeal;
  private readonly states: AttemptStates;
  private readonly exchanges: TokenBuckets;
  private readonly lookUps: TokenBuckets;
  /** Contains only applications that exist. */
  private readonly pages = new Map<string, Page>();
  private readonly lookingUp = new Map<string, Promise<Page>>();
  /** Avoids calls to Temporal for repeated links and callbacks. The workflow id is what guarantees a single use. */
  private readonly used = new Set<string>();

  constructor(options: AuthorizationsOptions) {
    const { environment, keys, runtime = PROCESS_RUNTIME } = options;
    const { clock, random } = runtime;
    this.options = options;
    this.runtime = runtime;
    this.seal = new TokenSeal(keys, random);
    this.states = new AttemptStates(environment, keys, random);
    this.exchanges = new TokenBuckets(LIMIT, clock);
    this.lookUps = new TokenBuckets(LIMIT, clock);
  }

  /** Issues a link for one attempt. Throws `AuthorizationError`. */
  async issue(app: string): Promise<AuthorizeLink> {
    const { searchParams } = new URL(await this.page(app));
    const redirectUri = searchParams.get('redirect_uri') ?? searchParams.get('redirectUri') ?? '';
    const { link, expiresAtMs } = this.states.issueLink(app, this.nowMs());
    // Beside `callback`, behind the same proxy.
    const url = new URL('authorize', redirectUri);
    url.searchParams.set('link', link);
    return { url, expiresAtMs };
  }

  /**
   * Starts the attempt of a link. Returns the URL for the browser. `browser` is a secret that only it has. Throws
   * `AuthorizationError`.
   */
  async begin(app: string, browser: string, link: string): Promise<URL> {
    const used = hashOf(link);
    if (this.states.checkLink(app, link, this.nowMs()) !== 'valid' || this.used.has(used))
      throw new AuthorizationError('refused', 'the link is unknown, expired or already used');
    // First, so that the link still works if no worker responds now.
    const url = new URL(await this.page(app));
    await this.use(app, used);
    url.searchParams.set('state', this.states.issue(app, browser, this.nowMs()));
    return url;
  }

  /**
   * Ends the attempt with this `state` (spec: Token exchange and refresh). An undefined `code` means that the user denied
   * access. Throws `AuthorizationError`.
   */
  async end(
    app: string,
    browser: string,
    { state, code }: { state: string; code?: string | undefined },
  ): Promise<AuthorizationOutcome> {
    const validity = this.states.check(app, browser, state, this.nowMs());
    const attempt = hashOf(state);
    if (validity === 'unknown' || this.used.has(attempt))
      throw new AuthorizationError(
        'refused',
        'the attempt is unknown, already used, or belongs to another browser',
      );
    if (validity === 'expired') return EXPIRED;
    if (code === undefined) return DENIED;
    if (!this.exchanges.take()) throw new AuthorizationError('busy', 'too many authorization attempts');
    const handle = await this.start(app, attempt, code);
    return this.outcome(handle);
  }

  /** Uses a link up, on every API server: the workflow of its hash starts once. Its result is not needed. */
  private async use(app: string, hash: string): Promise<void> {
    await this.once(hash, () =>
      this.options.client.workflow.start<WorkflowSignatures['authorizationLink']>('authorizationLink', {
        ...this.pageLookup(app, hash),
        ...ONCE,
      }),
    );
  }

  private async start(app: string, attempt: string, code: string) {
    const place = { environment: this.options.environment, app };
    return this.once(attempt, () =>
      this.options.client.workflow.start<WorkflowSignatures['userAuthorization']>('userAuthorization', {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowId: authorizationWorkflowId(app, attempt),
        ...ONCE,
        priority: LOWEST_PRIORITY,
        args: [{ ...place, code: this.seal.seal(code, place, 'code') }],
      }),
    );
  }

  /** Throws `AuthorizationError` if the workflow of this hash was started before. */
  private async once<T>(hash: string, start: () => Promise<T>): Promise<T> {
    this.remember(hash);
    try {
      return await this.withinDeadline(TEMPORAL_TIMEOUT_MS, start);
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError)
        throw new AuthorizationError('refused', 'was already used');
      // It is unknown whether the workflow was started. If it was not, the browser may open the same URL again.
      this.used.delete(hash);
      throw error;
    }
  }

  private async outcome(
    handle: WorkflowHandleWithFirstExecutionRunId<WorkflowSignatures['userAuthorization']>,
  ): Promise<AuthorizationOutcome> {
    const { outcomeWithinMs = OUTCOME_WITHIN_MS } = this.options;
    try {
      return await this.withinDeadline(outcomeWithinMs, () => ownResult(this.options.client, handle));
    } catch (error) {
      if (isGrpcDeadlineError(error))
        throw new AuthorizationError('exchanging', 'the exchange is still running');
      throw error;
    }
  }

  /** An expired address is still used while the next one is fetched. */
  private async page(app: string): Promise<string> {
    const known = this.pages.get(app);
    if (known && this.nowMs() < known.freshUntilMs) return known.url;
    const next = this.lookUp(app);
    if (!known) return (await next).url;
    next.catch(() => undefined);
    return known.url;
  }

  /** Runs one lookup at a time per application. */
  private lookUp(app: string): Promise<Page> {
    const running = this.lookingUp.get(app);
    if (running) return running;
    if (!this.lookUps.take())
      return Promise.reject(new AuthorizationError('busy', 'too many authorization attempts'));
    const lookUp = this.fetchPage(app).finally(() => this.lookingUp.delete(app));
    this.lookingUp.set(app, lookUp);
    return lookUp;
  }

  private async fetchPage(app: string): Promise<Page> {
    const { client } = this.options;
    const url = await this.withinDeadline(TEMPORAL_TIMEOUT_MS, async () => {
      const handle = await client.workflow.start<WorkflowSignatures['authorizationLink']>(
        'authorizationLink',
        this.pageLookup(app, this.runtime.random.uuid()),
      );
      return ownResult(client, handle);
    });
    const page = { url, freshUntilMs: this.nowMs() + PAGE_FRESH_MS };
    this.pages.set(app, page);
    return page;
  }

  private pageLookup(app: string, id: string) {
    return {
      taskQueue: PAYOUTS_TASK_QUEUE,
      workflowId: `authorization-link:${app}:${id}`,
      // Longer than any caller waits.
      workflowExecutionTimeout: '1 minute',
      priority: LOWEST_PRIORITY,
      args: [{ environment: this.options.environment, app }] satisfies [object],
    } as const;
  }

  private remember(hash: string): void {
    const [oldest] = this.used.size >= MAX_REMEMBERED ? this.used : [];
    if (oldest !== undefined) this.used.delete(oldest);
    this.used.add(hash);
  }

  private nowMs(): number {
    return this.runtime.clock.wallMs();
  }

  private withinDeadline<T>(withinMs: number, ask: () => Promise<T>): Promise<T> {
    return this.options.client.withDeadline(this.nowMs() + withinMs, ask);
  }
}

/** Ids and histories contain only hashes, so that their readers cannot take over an attempt. */
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** The maximum lifetime of an authorization code. A longer attempt cannot succeed. */
const EXPIRES_MS = 30 * 60_000;
/** A user may get the link by mail. The retention must be longer: the workflow of a used link refuses a second use. */
const LINK_EXPIRES_MS = 12 * 3_600_000;
/** The tolerated difference between the clocks of two API servers. */
const CLOCK_SKEW_MS = 5 * 60_000;
const SHAPE = /^([\w-]{1,64})\.([\w-]{1,128})$/;

type StateValidity = 'valid' | 'expired' | 'unknown';

/**
 * The link with which an attempt starts, and its OAuth `state`. Both are stateless: an encrypted time, bound to the
 * application and, for a state, to the browser that started the attempt. Without the key, they cannot be forged, so a forged
 * request costs nothing. Every API server with the same keys accepts them.
 */
export class AttemptStates {
  private readonly environment: string;
  private readonly ring: KeyRing;
  private readonly random: Random;

  /** Without token keys, which is possible only in a test against loopback, both are valid in this process only. */
  constructor(environment: string, ring?: KeyRing, random: Random = PROCESS_RUNTIME.random) {
    this.environment = environment;
    this.random = random;
    this.ring = ring ?? new KeyRing(new Map([['process', Buffer.from(random.bytes(32))]]));
  }

  /** Issues a state. `browser` is a secret that only the browser has. */
  issue(app: string, browser: string, nowMs: number): string {
    return this.seal(this.bindingOf('state', app, browser), nowMs);
  }

  issueLink(app: string, nowMs: number): { link: string; expiresAtMs: number } {
    return { link: this.seal(this.bindingOf('link', app), nowMs), expiresAtMs: nowMs + LINK_EXPIRES_MS };
  }

  /** Checks a state. `unknown`: not issued by us, or for another application or browser. */
  check(app: string, browser: string, state: string, nowMs: number): StateValidity {
    return this.validity(this.bindingOf('state', app, browser), state, nowMs, EXPIRES_MS);
  }

  /** Checks a link, not whether it was used. `unknown`: not issued by us, or for another application. */
  checkLink(app: string, link: string, nowMs: number): StateValidity {
    return this.validity(this.bindingOf('link', app), link, nowMs, LINK_EXPIRES_MS);
  }

  private seal(binding: string, nowMs: number): string {
    const sealed = this.ring.encrypt(Buffer.from(`${nowMs}`), this.random, binding);
    return `${this.ring.current}.${sealed.toString('base64url')}`;
  }

  private validity(binding: string, text: string, nowMs: number, expiresMs: number): StateValidity {
    const issuedAtMs = this.issuedAtMs(binding, text);
    if (issuedAtMs === undefined || issuedAtMs > nowMs + CLOCK_SKEW_MS) return 'unknown';
    return nowMs < issuedAtMs + expiresMs ? 'valid' : 'expired';
  }

  private issuedAtMs(binding: string, text: string): number | undefined {
    const [, keyId, sealed] = SHAPE.exec(text) ?? [];
    if (keyId === undefined || sealed === undefined) return undefined;
    try {
      return Number(this.ring.decrypt(keyId, Buffer.from(sealed, 'base64url'), binding).toString());
    } catch {
      return undefined;
    }
  }

  private bindingOf(kind: 'link' | 'state', app: string, browser = ''): string {
    return JSON.stringify([kind, this.environment, app, browser]);
  }
}
