/**
 * How a user lets the application act for them: an attempt begins in a browser, goes to the provider's page, and
 * comes back once, to the same browser. Anybody can call this, so nothing is started in Temporal before the browser
 * is back from an attempt that began here, and only so often.
 */

import { createHash } from 'node:crypto';
import { type Client, isGrpcDeadlineError, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { authorizationWorkflowId, PAYOUTS_TASK_QUEUE } from '../contract/ids.ts';
import type { WorkflowSignatures } from '../contract/workflows.ts';
import type { AuthorizationOutcome } from '../domain/authorization.ts';
import type { KeyRing } from '../encryption/key-ring.ts';
import { TokenSeal } from '../encryption/token-seal.ts';
import { PROCESS_SURROUNDINGS } from '../surroundings/process.ts';
import type { Surroundings } from '../surroundings/surroundings.ts';
import { AttemptStates } from './attempt-states.ts';
import { TokenBucket } from './token-bucket.ts';

/** Thrown for a callback that was used, never begun here, or begun in another browser. */
export class AttemptRefusedError extends Error {
  override readonly name = 'AttemptRefusedError';
}

/** Thrown when more is asked for than anonymous requests may cost. Nothing was done. */
export class AuthorizationsBusyError extends Error {
  override readonly name = 'AuthorizationsBusyError';
}

/** Thrown when the exchange goes on, and takes longer than the browser should wait. */
export class StillExchangingError extends Error {
  override readonly name = 'StillExchangingError';
}

export interface AuthorizationsOptions {
  client: Client;
  environment: string;
  /** The token keys. */
  keys: KeyRing | undefined;
  /** How long the browser waits for the outcome. */
  outcomeWithinMs?: number;
  /** By default this process's own. */
  surroundings?: Surroundings;
}

/** A link changes only with the workers' settings. */
const LINK_FRESH_MS = 5 * 60_000;
const TEMPORAL_ANSWERS_WITHIN_MS = 10_000;
const OUTCOME_WITHIN_MS = 30_000;
/** Of exchanges and of looks for a link, each: what anonymous requests may cost this process. */
const A_SECOND = 1;
const AT_ONCE = 20;
const USED_REMEMBERED = 10_000;
/** Behind the workflow tasks of payouts. */
const LAST = { priorityKey: 5 } as const;

const EXPIRED: AuthorizationOutcome = {
  outcome: 'EXPIRED',
  sentence: 'This took longer than 30 minutes. Please begin again.',
};
const DENIED: AuthorizationOutcome = {
  outcome: 'DENIED',
  sentence: 'Access was not granted. Nothing has changed.',
};

interface Link {
  url: string;
  freshUntilMs: number;
}

export class Authorizations {
  private readonly client: Client;
  private readonly environment: string;
  private readonly seal: TokenSeal;
  private readonly states: AttemptStates;
  private readonly outcomeWithinMs: number;
  private readonly surroundings: Surroundings;
  private readonly exchanges: TokenBucket;
  private readonly lookUps: TokenBucket;
  /** Only applications that exist get in here. */
  private readonly links = new Map<string, Link>();
  private readonly lookingUp = new Map<string, Promise<Link>>();
  /** Spares Temporal the replays; what counts is that a workflow id is used once. */
  private readonly used = new Set<string>();

  constructor(options: AuthorizationsOptions) {
    this.client = options.client;
    this.environment = options.environment;
    this.surroundings = options.surroundings ?? PROCESS_SURROUNDINGS;
    const { clock, random } = this.surroundings;
    this.seal = new TokenSeal(options.keys, random);
    this.states = new AttemptStates(options.environment, options.keys, random);
    this.exchanges = new TokenBucket(A_SECOND, AT_ONCE, () => clock.nowMs());
    this.lookUps = new TokenBucket(A_SECOND, AT_ONCE, () => clock.nowMs());
    this.outcomeWithinMs = options.outcomeWithinMs ?? OUTCOME_WITHIN_MS;
  }

  private nowMs(): number {
    return this.surroundings.clock.wallMs();
  }

  /** Where to send this browser. `browser` is a secret that only it holds. Throws `AuthorizationsBusyError`. */
  async begin(app: string, browser: string): Promise<URL> {
    const url = new URL(await this.link(app));
    url.searchParams.set('state', this.states.issue(app, browser, this.nowMs()));
    return url;
  }

  /**
   * What became of the attempt with this `state`. `code` undefined: access was not granted. Throws
   * `AttemptRefusedError`, `AuthorizationsBusyError`, `StillExchangingError`.
   */
  async end(
    app: string,
    browser: string,
    { state, code }: { state: string; code?: string | undefined },
  ): Promise<AuthorizationOutcome> {
    const validity = this.states.check(app, browser, state, this.nowMs());
    const attempt = hashOf(state);
    if (validity === 'unknown' || this.used.has(attempt))
      throw new AttemptRefusedError('the attempt is unknown, used, or of another browser');
    if (validity === 'expired') return EXPIRED;
    if (code === undefined) return DENIED;
    if (!this.exchanges.take()) throw new AuthorizationsBusyError('too many authorizations at once');
    this.remember(attempt);
    const handle = await this.start(app, attempt, code);
    return this.outcome(handle);
  }

  private async start(app: string, attempt: string, code: string) {
    const place = { environment: this.environment, app };
    try {
      return await this.withinDeadline(TEMPORAL_ANSWERS_WITHIN_MS, () =>
        this.client.workflow.start<WorkflowSignatures['userAuthorization']>('userAuthorization', {
          taskQueue: PAYOUTS_TASK_QUEUE,
          workflowId: authorizationWorkflowId(app, attempt),
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          workflowIdConflictPolicy: 'FAIL',
          priority: LAST,
          args: [{ ...place, code: this.seal.seal(code, place, 'code') }],
        }),
      );
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError)
        throw new AttemptRefusedError('the attempt was used');
      // Nobody knows whether it has been started. If it was not, the same address may be opened again.
      this.used.delete(attempt);
      throw error;
    }
  }

  private async outcome(handle: { result(): Promise<AuthorizationOutcome> }): Promise<AuthorizationOutcome> {
    try {
      return await this.withinDeadline(this.outcomeWithinMs, () => handle.result());
    } catch (error) {
      if (isGrpcDeadlineError(error)) throw new StillExchangingError('the exchange is under way');
      throw error;
    }
  }

  /** A link that is no longer fresh is good enough while the next one is looked up. */
  private async link(app: string): Promise<string> {
    const known = this.links.get(app);
    if (known && this.nowMs() < known.freshUntilMs) return known.url;
    const next = this.lookUp(app);
    if (!known) return (await next).url;
    next.catch(() => undefined);
    return known.url;
  }

  /** One at a time for an application, however many browsers ask. */
  private lookUp(app: string): Promise<Link> {
    const running = this.lookingUp.get(app);
    if (running) return running;
    if (!this.lookUps.take()) return Promise.reject(new AuthorizationsBusyError('too many at once'));
    const lookUp = this.ask(app).finally(() => this.lookingUp.delete(app));
    this.lookingUp.set(app, lookUp);
    return lookUp;
  }

  private async ask(app: string): Promise<Link> {
    const url = await this.withinDeadline(TEMPORAL_ANSWERS_WITHIN_MS, () =>
      this.client.workflow.execute<WorkflowSignatures['authorizationLink']>('authorizationLink', {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowId: `authorization-link:${app}:${this.surroundings.random.uuid()}`,
        // Longer than anybody waits for it.
        workflowExecutionTimeout: '1 minute',
        priority: LAST,
        args: [{ environment: this.environment, app }],
      }),
    );
    const link = { url, freshUntilMs: this.nowMs() + LINK_FRESH_MS };
    this.links.set(app, link);
    return link;
  }

  private remember(attempt: string): void {
    const [oldest] = this.used.size >= USED_REMEMBERED ? this.used : [];
    if (oldest !== undefined) this.used.delete(oldest);
    this.used.add(attempt);
  }

  private withinDeadline<T>(withinMs: number, ask: () => Promise<T>): Promise<T> {
    return this.client.withDeadline(this.nowMs() + withinMs, ask);
  }
}

/** Ids and histories hold hashes only, so whoever reads them cannot take over an attempt. */
function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
