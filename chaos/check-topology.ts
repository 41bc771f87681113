/** Pays a few payouts over HTTP, as a caller does, and compares them with the provider's ledger. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { benchRequest } from '../bench/pay.ts';
import { callApi } from '../scripts/topology/call-api.ts';
import type { Topology } from '../scripts/topology.ts';
import { simulatorControl } from '../simulator/control/client.ts';

const PAYOUTS = 4;
const LIMIT_MS = 120_000;

const answerSchema = z.object({
  state: z.object({ phase: z.string(), outcome: z.string().optional(), learnedBy: z.string().optional() }),
});

/** Whether every payout succeeded and was paid exactly once. The last line says so. */
export async function checkTopology(topology: Topology, say: (line: string) => void): Promise<boolean> {
  const simulator = simulatorControl(topology.simulatorUrl);
  const ids = Array.from({ length: PAYOUTS }, (_, number) => `topology-${number}`);
  for (const [number, partnerOrderId] of ids.entries())
    await callApi(topology, 'POST', '/v1/payouts', {
      ...benchRequest(number, 'default', 'success'),
      partnerOrderId,
    });
  let good = 0;
  for (const partnerOrderId of ids) {
    const { phase, outcome = phase, learnedBy = 'nothing' } = await untilDone(topology, partnerOrderId);
    const { debits } = await simulator.ledgerOf(partnerOrderId);
    say(`  ${partnerOrderId}  ${outcome}, learned by ${learnedBy}, paid ${debits} time(s)`);
    if (outcome === 'SUCCESS' && debits === 1) good += 1;
  }
  say(`${good} of ${PAYOUTS} paid once: ${good === PAYOUTS ? 'OK' : 'FAILED'}`);
  return good === PAYOUTS;
}

/** Or the state after the time limit. */
async function untilDone(topology: Topology, partnerOrderId: string) {
  for (const deadline = Date.now() + LIMIT_MS; ; await sleep(250)) {
    const { state } = answerSchema.parse(await callApi(topology, 'GET', `/v1/payouts/${partnerOrderId}`));
    if (state.phase === 'DONE' || Date.now() > deadline) return state;
  }
}
