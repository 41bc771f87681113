/** The clocks of this machine, the engine, a worker and the payments service: deadlines are counted on all of them. */
import type { ClockOffset } from '../../../domain/time.ts';
import { type Check, problem, unknown, well } from './check.ts';

const CHECK = 'clocks';
/** Half of a lock's life. */
const TOO_FAR_MS = 30_000;

export interface ClockReadings {
  /** Against this machine. */
  engine?: ClockOffset | undefined;
  /** Against the engine. */
  worker?: ClockOffset | undefined;
  /** Against the worker that asked. */
  service?: ClockOffset | undefined;
}

export function clocksAgree({ engine, worker, service }: ClockReadings): Check {
  const pairs = [
    { named: 'the engine against this machine', off: engine },
    { named: 'the worker against the engine', off: worker },
    { named: 'the payments service against the worker', off: service },
  ];
  const far = pairs.filter(({ off = 0 }) => Math.abs(off) > TOO_FAR_MS);
  const said = pairs.map(({ named, off }) => `${named} ${told(off)}`).join(', ');
  if (far.length > 0)
    return problem(
      CHECK,
      said,
      'set the clock that is wrong, and keep it by NTP: locks and signatures live by it',
    );
  if (pairs.every(({ off }) => off === undefined))
    return unknown(CHECK, 'none could be read', 'mend what is wrong above, and ask again');
  return well(CHECK, said);
}

function told(off: ClockOffset | undefined): string {
  if (off === undefined) return 'unknown';
  if (Math.abs(off) < 1_000) return 'agrees';
  return `${Math.round(Math.abs(off) / 1_000)} s ${off > 0 ? 'ahead' : 'behind'}`;
}
