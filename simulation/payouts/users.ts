/** Users for whom a world's application acts: who authorizes it, late or again, and what must hold of their tokens. */

import {
  AttemptRefusedError,
  Authorizations,
  AuthorizationsBusyError,
  StillExchangingError,
} from '../../src/client/authorizations.ts';
import { tokenWorkflowId } from '../../src/contract/ids.ts';
import { tokenStateQuery } from '../../src/contract/token-messages.ts';
import type { tokenRenewal } from '../../src/workflows/tokens/token-renewal.ts';
import type { Random } from '../world/random.ts';
import { partnerOrderIdOf, payoutId } from './payout-world.ts';
import type { PlannedPayout } from './plan.ts';
import type { Feature, Scene } from './scene.ts';
import { TokenOracle } from './token-oracle.ts';

export interface PlannedUser {
  openId: string;
  authorizesAtMs: number;
  /** So often they say no before they say yes. */
  denials: number;
  /** When somebody terminates the renewal of their token. */
  terminatedAtMs: number | undefined;
}

export type TokenKind = 'application' | 'user';

export interface PlannedUsers {
  users: PlannedUser[];
  /** Which tokens the provider wants. */
  gateway: TokenKind;
  trade: TokenKind;
  tokenSeconds: number;
  refreshTokenSeconds: number;
  rotation: 'rotate' | 'keep';
  previousIsValid: boolean;
}

const WITH_USERS = 0.15;
const LATE_MS = 15 * 60_000;

export function usersIn(random: Random, troubleMs: number): PlannedUsers | undefined {
  if (!random.chance(WITH_USERS)) return undefined;
  const count = random.pick([1, 1, 2, 4]) ?? 1;
  const both = random.chance(0.5);
  return {
    users: Array.from({ length: count }, (_, at) => ({
      openId: `u-${at + 1}`,
      authorizesAtMs: random.chance(0.35)
        ? troubleMs + LATE_MS
        : random.between(0, (random.pick([0.05, 0.8]) ?? 0) * troubleMs),
      denials: random.chance(0.2) ? 1 : 0,
      terminatedAtMs: random.chance(0.3) ? random.between(0, troubleMs) : undefined,
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
const PAGE = 'https://receiver.invalid/v1/oauth/default/callback';
const AGAIN_AFTER_MS = 5_000;
/** Calls that wait are flagged after five minutes; what waits between two calls may come before that. */
const FLAGGED_WITHIN_MS = 8 * 60_000;
const ASKS_NOTHING = ['DONE', 'AWAITING_APPROVAL', 'NEEDS_REVIEW'];

export class Users implements Feature {
  private readonly scene: Scene;
  private readonly authorizations: Authorizations;
  private readonly oracle: TokenOracle;
  private readonly authorizing = new Set<string>();
  private readonly granted = new Set<string>();

  constructor(scene: Scene) {
    this.scene = scene;
    const { client, world, keys } = scene.there;
    this.authorizations = new Authorizations({
      ...{ client, environment: 'test', keys: keys.tokens },
      surroundings: { clock: world, random: world.randomness() },
    });
    this.oracle = new TokenOracle(scene);
  }

  begin(): void {
    const { world } = this.scene.there;
    if (this.users.length > 0) this.oracle.begin();
    for (const user of this.users) {
      world.spawn(this.comeFirst(user));
      if (user.terminatedAtMs !== undefined) world.spawn(this.terminate(user, user.terminatedAtMs));
    }
  }

  /** Whoever has to authorize again does so. */
  look(): void {
    for (const user of this.users)
      if (this.granted.has(user.openId)) this.scene.there.world.spawn(this.lookAfter(user));
  }

  restored(): void {
    this.oracle.restored();
  }

  private get users(): readonly PlannedUser[] {
    return this.scene.plan.users?.users ?? [];
  }

  // ---- people

  private async comeFirst(user: PlannedUser): Promise<void> {
    await this.scene.there.world.sleep(user.authorizesAtMs);
    await this.judgeFlags(user);
    for (let left = user.denials; left > 0; left -= 1) await this.attempt(user, 'deny');
    await this.authorize(user);
  }

  private async lookAfter(user: PlannedUser): Promise<void> {
    const { client, server } = this.scene.there;
    const id = tokenWorkflowId(APP, user.openId);
    const handle = client.workflow.getHandle<typeof tokenRenewal>(id);
    const state = await this.scene.tolerant(user.openId, () => handle.query(tokenStateQuery));
    if (!server.latest(id) || state?.needsAuthorization) await this.authorize(user);
  }

  /** Until it is granted. */
  private async authorize(user: PlannedUser): Promise<void> {
    const { openId } = user;
    if (this.authorizing.has(openId)) return;
    this.authorizing.add(openId);
    try {
      while ((await this.attempt(user, 'allow')) !== 'GRANTED')
        await this.scene.there.world.sleep(AGAIN_AFTER_MS);
      this.granted.add(openId);
    } finally {
      this.authorizing.delete(openId);
    }
  }

  private async attempt({ openId }: PlannedUser, decision: 'allow' | 'deny'): Promise<string | undefined> {
    const { scene, authorizations } = this;
    const browser = scene.there.world.random.uuid();
    const outcome = await scene.tolerant(openId, async () => {
      try {
        const link = await authorizations.begin(APP, browser);
        const back = new URL(scene.there.provider.decide(link.toString(), { decision, openId }));
        if (`${back.origin}${back.pathname}` !== PAGE) throw new Error(`the user is sent to ${back.origin}`);
        const state = back.searchParams.get('state') ?? '';
        const code = back.searchParams.get('code') ?? undefined;
        await this.refuses(`${openId}: a callback in another browser`, 'somebody-else', { state, code });
        const { outcome } = await authorizations.end(APP, browser, { state, code });
        if (code !== undefined)
          await this.refuses(`${openId}: a callback that was used`, browser, { state, code });
        return outcome;
      } catch (error) {
        if (error instanceof AuthorizationsBusyError || error instanceof StillExchangingError)
          return undefined;
        throw error;
      }
    });
    scene.tell(openId, `the user: ${decision}, ${outcome ?? 'no answer'}`);
    scene.there.world.met.add(`user: ${decision}`);
    return outcome;
  }

  private async refuses(
    what: string,
    browser: string,
    callback: { state: string; code: string | undefined },
  ): Promise<void> {
    try {
      await this.authorizations.end(APP, browser, callback);
    } catch (error) {
      if (error instanceof AttemptRefusedError || error instanceof AuthorizationsBusyError) return;
      throw error;
    }
    this.scene.there.world.violation(`${what} is taken`);
  }

  private async terminate({ openId }: PlannedUser, atMs: number): Promise<void> {
    const { world, client } = this.scene.there;
    await world.sleep(atMs);
    this.scene.act('token', openId, 'terminate');
    const handle = client.workflow.getHandle(tokenWorkflowId(APP, openId));
    await this.scene.tolerant(openId, () => handle.terminate('by a person'));
  }

  // ---- the oracle

  /** Payouts that have waited for this user for long are flagged. */
  private async judgeFlags({ openId }: PlannedUser): Promise<void> {
    const { scene } = this;
    const { world } = scene.there;
    const since = world.now - FLAGGED_WITHIN_MS;
    if (scene.calmSinceMs === undefined || scene.calmSinceMs > since) return;
    for (const payout of scene.open.values()) {
      if (payout.request.openId !== openId) continue;
      const run = scene.there.server.latest(payoutId(payout.number));
      if (run?.isRunning && run.startedAt < since) await this.judgeFlag(payout);
    }
  }

  private async judgeFlag({ number }: PlannedPayout): Promise<void> {
    const about = partnerOrderIdOf(number);
    const state = await this.scene.stateOf(number);
    if (!state || ASKS_NOTHING.includes(state.phase)) return;
    if (!state.reasons.some(({ code }) => code === 'CALL_WAITS'))
      this.scene.there.world.violation(`${about} waits for its user in ${state.phase}, and is not flagged`);
  }
}
