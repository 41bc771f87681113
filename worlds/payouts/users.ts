/** Users for whom the application of a world acts: how they authorize it, and the checks of their tokens. */

import { AuthorizationError, Authorizations } from '../../src/client/authorizations.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { tokenStateQuery } from '../../src/contract/workflows.ts';
import type { tokenRenewal } from '../../src/workflows/tokens/token-renewal.ts';
import type { Random } from '../engine/random.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { PlannedPayout, PlannedUser, PlannedUsers } from './planned.ts';
import type { Feature, Scene } from './scene.ts';
import { TokenOracle } from './token-oracle.ts';

const USERS_PROBABILITY = 0.15;
const LATE_MS = 15 * 60_000;

export function planUsers(random: Random, faultPhaseMs: number): PlannedUsers | undefined {
  if (!random.chance(USERS_PROBABILITY)) return undefined;
  const count = random.pick([1, 1, 2, 4]) ?? 1;
  const both = random.chance(0.5);
  return {
    users: Array.from({ length: count }, (_, at) => ({
      openId: `u-${at + 1}`,
      authorizesAtMs: random.chance(0.35)
        ? faultPhaseMs + LATE_MS
        : random.between(0, (random.pick([0.05, 0.8]) ?? 0) * faultPhaseMs),
      denials: random.chance(0.2) ? 1 : 0,
      terminatedAtMs: random.chance(0.3) ? random.between(0, faultPhaseMs) : undefined,
    })),
    gateway: both || random.chance(0.5) ? 'user' : 'application',
    trade: 'user',
    tokenSeconds: random.pick([120, 600, 2_592_000]) ?? 600,
    refreshTokenSeconds: random.pick([3_600, 15_552_000]) ?? 3_600,
    rotation: random.chance(0.8) ? 'rotate' : 'keep',
    previousIsValid: random.chance(0.6),
  };
}

const APP = 'default';
const CALLBACK_URL = 'https://receiver.invalid/v1/oauth/default/callback';
const RETRY_DELAY_MS = 5_000;
/** A waiting call is flagged after five minutes. A wait between two calls may precede it. */
const FLAG_LIMIT_MS = 8 * 60_000;
const PHASES_WITHOUT_CALLS = ['DONE', 'AWAITING_APPROVAL', 'PAUSED', 'NEEDS_REVIEW'];

export class Users implements Feature {
  private readonly scene: Scene;
  private readonly authorizations: Authorizations;
  private readonly oracle: TokenOracle;
  private readonly authorizing = new Set<string>();
  private readonly granted = new Set<string>();

  constructor(scene: Scene) {
    this.scene = scene;
    const { client, world, keys } = scene.system;
    this.authorizations = new Authorizations({
      ...{ client, environment: 'test', keys: keys.authorizations },
      runtime: { clock: world, random: world.randomness() },
    });
    this.oracle = new TokenOracle(scene);
  }

  begin(): void {
    const { world } = this.scene.system;
    if (this.users.length > 0) this.oracle.begin();
    for (const user of this.users) {
      world.spawn(this.authorizeFirst(user));
      if (user.terminatedAtMs !== undefined) world.spawn(this.terminate(user, user.terminatedAtMs));
    }
  }

  /** Users authorize again if the renewal requires it. */
  inspect(): void {
    for (const user of this.users)
      if (this.granted.has(user.openId)) this.scene.system.world.spawn(this.reauthorize(user));
  }

  restored(): void {
    this.oracle.restored();
  }

  private get users(): readonly PlannedUser[] {
    return this.scene.plan.users?.users ?? [];
  }

  // ---- people

  private async authorizeFirst(user: PlannedUser): Promise<void> {
    await this.scene.system.world.sleep(user.authorizesAtMs);
    await this.checkFlags(user);
    for (let left = user.denials; left > 0; left -= 1) await this.attempt(user, 'deny');
    await this.authorize(user);
  }

  private async reauthorize(user: PlannedUser): Promise<void> {
    const { client, server } = this.scene.system;
    const id = tokenWorkflowId(APP, user.openId);
    const handle = client.workflow.getHandle<typeof tokenRenewal>(id);
    const state = await this.scene.ignoreExpectedErrors(user.openId, () => handle.query(tokenStateQuery));
    if (!server.latest(id) || state?.needsAuthorization) await this.authorize(user);
  }

  /** Repeats the authorization until it is granted. */
  private async authorize(user: PlannedUser): Promise<void> {
    const { openId } = user;
    if (this.authorizing.has(openId)) return;
    this.authorizing.add(openId);
    try {
      while ((await this.attempt(user, 'allow')) !== 'GRANTED')
        await this.scene.system.world.sleep(RETRY_DELAY_MS);
      this.granted.add(openId);
    } finally {
      this.authorizing.delete(openId);
    }
  }

  private async attempt({ openId }: PlannedUser, decision: 'allow' | 'deny'): Promise<string | undefined> {
    const { scene, authorizations } = this;
    const browser = scene.system.world.random.uuid();
    const outcome = await scene.ignoreExpectedErrors(openId, async () => {
      try {
        const { url } = await authorizations.issue(APP);
        const page = await authorizations.begin(APP, browser, url.searchParams.get('link') ?? '');
        const callbackUrl = new URL(scene.system.provider.decide(page.toString(), { decision, openId }));
        if (`${callbackUrl.origin}${callbackUrl.pathname}` !== CALLBACK_URL)
          throw new Error(`the provider redirects the user to ${callbackUrl.origin}`);
        const state = callbackUrl.searchParams.get('state') ?? '';
        const code = callbackUrl.searchParams.get('code') ?? undefined;
        await this.expectRejection(`${openId}: a callback in another browser`, 'another-browser', {
          state,
          code,
        });
        const { outcome } = await authorizations.end(APP, browser, { state, code });
        if (code !== undefined)
          await this.expectRejection(`${openId}: a callback that was already used`, browser, { state, code });
        return outcome;
      } catch (error) {
        if (error instanceof AuthorizationError && error.kind !== 'refused') return undefined;
        throw error;
      }
    });
    scene.note(openId, `user: ${decision}, ${outcome ?? 'no answer'}`);
    scene.system.world.occurred.add(`user: ${decision}`);
    return outcome;
  }

  private async expectRejection(
    what: string,
    browser: string,
    callback: { state: string; code: string | undefined },
  ): Promise<void> {
    try {
      await this.authorizations.end(APP, browser, callback);
    } catch (error) {
      if (error instanceof AuthorizationError && error.kind !== 'exchanging') return;
      throw error;
    }
    this.scene.system.world.violation(`${what} is accepted`);
  }

  private async terminate({ openId }: PlannedUser, atMs: number): Promise<void> {
    const { world, client } = this.scene.system;
    await world.sleep(atMs);
    this.scene.recordAction('token', openId, 'terminate');
    const handle = client.workflow.getHandle(tokenWorkflowId(APP, openId));
    await this.scene.ignoreExpectedErrors(openId, () => handle.terminate('by an operator'));
  }

  // ---- the oracle

  /** A payout that has waited long for this user must be flagged. */
  private async checkFlags({ openId }: PlannedUser): Promise<void> {
    const { scene } = this;
    const { world } = scene.system;
    const since = world.now - FLAG_LIMIT_MS;
    if (scene.faultsEndedAtMs === undefined || scene.faultsEndedAtMs > since) return;
    for (const payout of scene.open.values()) {
      if (payout.request.openId !== openId) continue;
      const run = scene.system.server.latest(payoutId(payout.number));
      if (run?.isRunning && run.startedAt < since) await this.checkFlag(payout);
    }
  }

  private async checkFlag({ number }: PlannedPayout): Promise<void> {
    const about = partnerOrderIdOf(number);
    const state = await this.scene.stateOf(number);
    if (!state || PHASES_WITHOUT_CALLS.includes(state.phase)) return;
    if (!state.reasons.some(({ code }) => code === 'CALL_WAITS'))
      this.scene.system.world.violation(`${about} waits for its user in ${state.phase} without a flag`);
  }
}
