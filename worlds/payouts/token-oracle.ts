/** Checks user tokens: each is used only for its own user, and a replaced refresh token is not sent again. */

import type { InProcessAnswer } from '../../simulator/index.ts';
import { fieldsIn, isFields, type ObservedCall } from '../provider/wiretap.ts';
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import { partnerOrderIdOf } from './payout-world.ts';
import type { Scene } from './scene.ts';

const TOKENS = '/v3/b2b/oauth/token';

export class TokenOracle {
  private readonly scene: Scene;
  /** The user of each token, as far as an answer named one. */
  private readonly userByToken = new Map<string, string>();
  /** The last refresh token that was sent, by user. */
  private readonly lastSentByUser = new Map<string, string>();
  /** The successor of each refresh token. */
  private readonly successors = new Map<string, string>();
  /** Refresh tokens whose successor Temporal has stored. */
  private readonly replaced = new Set<string>();
  private readonly userByPayout: ReadonlyMap<string, string | undefined>;
  private isRestored = false;

  constructor(scene: Scene) {
    this.scene = scene;
    this.userByPayout = new Map(
      scene.plan.payouts.map(({ number, request }) => [partnerOrderIdOf(number), request.openId]),
    );
  }

  begin(): void {
    const { system } = this.scene;
    system.wiretap.listeners.push({
      onCall: (call) => this.onCall(call),
      onAnswer: (call, answer) => this.onAnswer(call, answer),
    });
    system.server.onChange.push((run) => this.onHistoryEvent(run));
  }

  /** A restored Temporal has older tokens and may send them. */
  restored(): void {
    this.isRestored = true;
  }

  private onCall(call: ObservedCall): void {
    if (call.path !== TOKENS) this.checkUse(call);
    const sent = text(call.body['refresh_token']);
    const user = this.userByToken.get(sent ?? '');
    if (sent === undefined || user === undefined) return;
    if (this.replaced.has(sent) && !this.isRestored)
      this.scene.system.world.violation(`${user}: a replaced refresh token is sent again`);
    this.lastSentByUser.set(user, sent);
  }

  private onAnswer({ path, body }: ObservedCall, answer: InProcessAnswer): void {
    const data = path === TOKENS && answer.is === 'answer' ? fieldsIn(answer.body)['data'] : undefined;
    if (!isFields(data)) return;
    const openId = text(data['open_id']);
    if (openId === undefined) return;
    const sent = text(body['refresh_token']);
    const next = text(data['refresh_token']);
    for (const token of [text(data['access_token']), next]) if (token) this.userByToken.set(token, openId);
    if (sent !== undefined && next !== undefined && next !== sent) this.successors.set(sent, next);
  }

  private checkUse({ path, token, body }: ObservedCall): void {
    const user = this.userByToken.get(token ?? '');
    const number = text(body['partner_order_id']) ?? text(body['outOrderId']);
    const owner = this.userByPayout.get(number ?? '');
    if (user !== undefined && owner !== undefined && user !== owner)
      this.scene.system.world.violation(`${number} of ${owner}: ${path} used the token of ${user}`);
  }

  /** After a completed refresh, Temporal has stored the successor of the token that was sent. */
  private onHistoryEvent({ workflowId, entries }: Run): void {
    const user = /^token:default:user:(.+)$/.exec(workflowId)?.[1];
    if (user === undefined) return;
    const last = entries.at(-1);
    if (last?.type !== EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED) return;
    const scheduledId = Number(last.event.activityTaskCompletedEventAttributes?.scheduledEventId);
    const scheduled = entries[scheduledId - 1]?.event.activityTaskScheduledEventAttributes;
    const sent = this.lastSentByUser.get(user);
    if (scheduled?.activityType?.name !== 'refreshUserToken' || sent === undefined) return;
    if (this.successors.has(sent)) this.replaced.add(sent);
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
