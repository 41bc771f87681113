/** A steady stream of payouts over HTTP, as callers start them, on the production topology. */
import { setTimeout as sleep } from 'node:timers/promises';
import { benchRequest } from '../bench/pay.ts';
import { callApi } from '../scripts/topology/call-api.ts';
import type { Topology } from '../scripts/topology.ts';
import type { PayoutRequest } from '../src/contract/payout-request.ts';
import { untilStarted } from './payouts.ts';

const PER_SECOND = 1;
const SCENARIO = 'success final=2s';

/** Starts payouts at a steady pace. A start whose answer is lost is sent again. */
export class PayoutStream {
  private readonly topology: Topology;
  private readonly name: string;
  private isStopped = false;

  /** `name` begins the id of each payout. */
  constructor(topology: Topology, name: string) {
    this.topology = topology;
    this.name = name;
  }

  stop(): void {
    this.isStopped = true;
  }

  /** Resolves with all requests once every start is accepted after `stop`. */
  async run(): Promise<PayoutRequest[]> {
    const requests: PayoutRequest[] = [];
    const starts: Promise<void>[] = [];
    for (let number = 0; !this.isStopped; number += 1) {
      const request = {
        ...benchRequest(number, 'default', SCENARIO),
        partnerOrderId: `${this.name}-${number}`,
        payerId: `payer-${number}`,
      };
      requests.push(request);
      const started = untilStarted(() => callApi(this.topology, 'POST', '/v1/payouts', request));
      // Reported by `Promise.all` below, and not before.
      started.catch(() => undefined);
      starts.push(started);
      await sleep(1_000 / PER_SECOND);
    }
    await Promise.all(starts);
    return requests;
  }
}
