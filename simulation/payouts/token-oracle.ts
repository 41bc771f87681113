/** What must hold of users' tokens: each is used for its own user, and a refresh token that was replaced is not sent again. */

import type { InProcessAnswer } from '../../simulator/index.ts';
import { fieldsIn, isFields, type Overheard } from '../provider/wiretap.ts';
import { EventType } from '../temporal/history.ts';
import type { Run } from '../temporal/run.ts';
import { partnerOrderIdOf } from './payout-world.ts';
import type { Scene } from './scene.ts';

const TOKENS = '/v3/b2b/oauth/token';

export class TokenOracle {
  private readonly scene: Scene;
  /** Whose each token is, as far as an answer said so. */
  private readonly users = new Map<string, string>();
  /** The refresh token that was sent last, by user. */
  private readonly lastSent = new Map<string, string>();
  /** What each refresh token was replaced by. */
  private readonly successors = new Map<string, string>();
  /** Those whose replacement Temporal knows. */
  private readonly spent = new Set<string>();
  private readonly owners: ReadonlyMap<string, string | undefined>;
  private isRestored = false;

  constructor(scene: Scene) {
    this.scene = scene;
    this.owners = new Map(
      scene.plan.payouts.map(({ number, request }) => [partnerOrderIdOf(number), request.openId]),
    );
  }

  begin(): void {
    const { there } = this.scene;
    there.wiretap.listeners.push({
      arrives: (call) => this.arrives(call),
      answered: (call, answer) => this.answered(call, answer),
    });
    there.server.onChange.push((run) => this.see(run));
  }

  /** It knows of older tokens only, and may send them. */
  restored(): void {
    this.isRestored = true;
  }

  private arrives(call: Overheard): void {
    if (call.path !== TOKENS) this.judgeUse(call);
    const sent = text(call.body['refresh_token']);
    const user = this.users.get(sent ?? '');
    if (sent === undefined || user === undefined) return;
    if (this.spent.has(sent) && !this.isRestored)
      this.scene.there.world.violation(`${user}: a refresh token that was replaced is sent again`);
    this.lastSent.set(user, sent);
  }

  private answered({ path, body }: Overheard, answer: InProcessAnswer): void {
    const data = path === TOKENS && answer.is === 'answer' ? fieldsIn(answer.body)['data'] : undefined;
    if (!isFields(data)) return;
    const openId = text(data['open_id']);
    if (openId === undefined) return;
    const sent = text(body['refresh_token']);
    const next = text(data['refresh_token']);
    for (const token of [text(data['access_token']), next]) if (token) this.users.set(token, openId);
    if (sent !== undefined && next !== undefined && next !== sent) this.successors.set(sent, next);
  }

  private judgeUse({ path, token, body }: Overheard): void {
    const user = this.users.get(token ?? '');
    const number = text(body['partner_order_id']) ?? text(body['outOrderId']);
    const owner = this.owners.get(number ?? '');
    if (user !== undefined && owner !== undefined && user !== owner)
      this.scene.there.world.violation(`${number} of ${owner}: ${path} came with the token of ${user}`);
  }

  /** A refresh that has ended well is known to Temporal: what it sent is spent. */
  private see({ workflowId, entries }: Run): void {
    const user = /^token:default:user:(.+)$/.exec(workflowId)?.[1];
    if (user === undefined) return;
    const last = entries.at(-1);
    if (last?.type !== EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED) return;
    const scheduledId = Number(last.event.activityTaskCompletedEventAttributes?.scheduledEventId);
    const scheduled = entries[scheduledId - 1]?.event.activityTaskScheduledEventAttributes;
    const sent = this.lastSent.get(user);
    if (scheduled?.activityType?.name !== 'refreshUserToken' || sent === undefined) return;
    if (this.successors.has(sent)) this.spent.add(sent);
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
