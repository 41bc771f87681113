/** Payouts start on the topology, and Prometheus watches. */
import type { Topology } from '../../scripts/topology.ts';
import { PayoutStream } from '../stream.ts';
import { Prometheus } from './prometheus.ts';

/** `name` begins the id of each payout. */
export async function observed(topology: Topology, name: string) {
  const prometheus = await Prometheus.start(topology);
  const stream = new PayoutStream(topology, name);
  const running = stream.run();
  running.catch(() => undefined);
  return { prometheus, stream, running };
}
