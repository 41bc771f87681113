/** Payouts that require approval, over HTTP, in virtual time. Their callers are `shop`, which starts them, and `desk`. */
import { expect } from 'vitest';
import { z } from 'zod';
import { type PayoutState, payoutStateSchema } from '../../src/contract/payout.ts';
import { as, callerEntry, keysFile } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import { get, post, startApiServer, type TestApiServer } from '../support/http.ts';
import { payoutRequest } from '../support/requests.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

export class ApprovalStage {
  readonly world: VirtualWorld;
  private readonly service: TestApiServer;

  private constructor(world: VirtualWorld, service: TestApiServer) {
    this.world = world;
    this.service = service;
  }

  static async start(): Promise<ApprovalStage> {
    const env = { PAYMENTS_LOCK_LIFETIME: '5s', PAYOUTS_APPROVAL_EXPIRES: '1h' };
    const world = await VirtualWorld.start({ env });
    const service = await startApiServer(world.client, {
      PAYOUTS_API_KEYS_FILE: keysFile([callerEntry('shop'), callerEntry('desk')]),
    });
    return new ApprovalStage(world, service);
  }

  async stop(): Promise<void> {
    await this.service.close();
    await this.world.stop();
  }

  /** The address of payouts. */
  get at(): string {
    return `${this.service.url}/v1/payouts`;
  }

  request(over: object = {}) {
    return payoutRequest(newPartnerOrderId(), { platform: 'sim:success', approval: 'required', ...over });
  }

  async started(over: object = {}): Promise<string> {
    const body = this.request(over);
    expect((await post(this.at, body, as('shop'))).status).toBe(202);
    return body.partnerOrderId;
  }

  async stateOf(id: string): Promise<PayoutState> {
    const { body } = await get(`${this.at}/${id}`, as('desk'));
    return z.object({ state: payoutStateSchema }).parse(body).state;
  }

  until(id: string, wanted: (state: PayoutState) => boolean): Promise<PayoutState> {
    return eventually(async () => {
      const state = await this.stateOf(id);
      return wanted(state) ? state : undefined;
    });
  }

  waits(id: string): Promise<PayoutState> {
    return this.until(id, ({ phase }) => phase === 'AWAITING_APPROVAL');
  }

  ends(id: string): Promise<PayoutState> {
    return this.until(id, ({ outcome }) => outcome !== undefined);
  }

  approve(id: string, who: string, decision: { lockRateId?: string; tolerance?: string } = {}) {
    return post(`${this.at}/${id}/approve`, decision, as(who));
  }
}
