/** Compares the clocks of this machine, Temporal, a worker and the provider, because deadlines depend on all of them. */
import type { ClockOffset } from '../../../domain/time.ts';
import { type Check, ok, problem, unknown } from './check.ts';

const CHECK = 'clocks';
/** Half of the lifetime of a lock. */
const MAX_OFFSET_MS = 30_000;

export interface ClockOffsets {
  /** From the clock of this machine. */
  temporal?: ClockOffset | undefined;
  /** From Temporal's clock. */
  worker?: ClockOffset | undefined;
  /** From the clock of the worker that called it. */
  provider?: ClockOffset | undefined;
}

export function compareClocks({ temporal, worker, provider }: ClockOffsets): Check {
  const pairs = [
    { pair: 'Temporal against this machine', offset: temporal },
    { pair: 'worker against Temporal', offset: worker },
    { pair: 'provider against worker', offset: provider },
  ];
  const detail = pairs.map(({ pair, offset }) => `${pair}: ${offsetText(offset)}`).join(', ');
  if (pairs.some(({ offset = 0 }) => Math.abs(offset) > MAX_OFFSET_MS))
    return problem(
      CHECK,
      detail,
      'synchronize the clock that is wrong (NTP): locks and signatures expire by it',
    );
  if (pairs.every(({ offset }) => offset === undefined))
    return unknown(CHECK, 'no clock could be read', 'fix the problems above, and run doctor again');
  return ok(CHECK, detail);
}

function offsetText(offset: ClockOffset | undefined): string {
  if (offset === undefined) return 'unknown';
  if (Math.abs(offset) < 1_000) return 'in sync';
  return `${Math.round(Math.abs(offset) / 1_000)} s ${offset > 0 ? 'ahead' : 'behind'}`;
}
