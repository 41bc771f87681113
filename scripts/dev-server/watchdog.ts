/**
 * Ends a child process when this process ends in any way, `kill -9` included.
 *
 * A small shell reads its standard input until the end. Only this process holds the other end of that pipe, so
 * the system closes it when this process is gone. No exit handler can guarantee that.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** `$1` is the child. It has 5 s to stop gracefully. */
const SCRIPT =
  'trap "" INT TERM HUP; read line; kill -TERM "$1" || exit; n=0; ' +
  'while kill -0 "$1" && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; kill -KILL "$1"';

export function killWithParent(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const watchdog = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', `${child.pid}`], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a watchdog, the child may outlive a killed parent, but works.
  watchdog.on('error', () => {});
  watchdog.stdin?.on('error', () => {});
  watchdog.unref();
  // Once the child is gone, the system may give its pid to another process.
  child.once('exit', () => watchdog.kill('SIGKILL'));
}
