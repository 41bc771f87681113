/** What every worker process keeps in place at Temporal, also while Temporal does not respond. */
import type { ProblemLog } from '../observability/log.ts';
import type { Clock } from '../runtime/runtime.ts';
import { messageOf } from '../temporal/client-errors.ts';

const RETRY_MS = 5_000;

interface Ensured {
  ensure: () => Promise<void>;
  /** For the log: what cannot be done. */
  failure: string;
  log: ProblemLog;
  /** The pause after a success, in milliseconds. Without it, one success is enough. */
  everyMs?: number;
}

/** Runs `ensure` in the background until the returned function is called. Logs the first failure. */
export function inBackground(clock: Clock, { ensure, failure, log, everyMs }: Ensured): () => void {
  let cancelTimer: () => void = () => undefined;
  let isStopped = false;
  let isLogged = false;
  const again = (ms: number) => {
    if (!isStopped) cancelTimer = clock.after(ms, run);
  };
  const run = () => {
    ensure().then(
      () => everyMs !== undefined && again(everyMs),
      (error: unknown) => {
        if (!isLogged) log.error(`${failure}: ${messageOf(error)}`);
        isLogged = true;
        again(RETRY_MS);
      },
    );
  };
  run();
  return () => {
    isStopped = true;
    cancelTimer();
  };
}
