/**
 * Ends a child process when this process ends, in whatever way: by itself, by a signal, by `kill -9`.
 *
 * A small shell waits for the end of its standard input. The only other end of that pipe is in this process,
 * so the system closes it whenever this process is gone. No exit handler could promise that.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** `$1` is the child. It gets 5 s to end in good order. */
const SCRIPT =
  'trap "" INT TERM HUP; read line; kill -TERM "$1" || exit; n=0; ' +
  'while kill -0 "$1" && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; kill -KILL "$1"';

export function guard(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const watchdog = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', `${child.pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without it the child is only less well guarded.
  watchdog.on('error', () => {});
  watchdog.stdin?.on('error', () => {});
  watchdog.unref();
  // The child's number may be given to another process once it is gone.
  child.once('exit', () => watchdog.kill('SIGKILL'));
}
