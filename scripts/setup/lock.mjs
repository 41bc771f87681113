/** A file lock between processes. */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const REFRESH_MS = 2_000;
/** A holder that hasn't refreshed its file for this long is gone, on whichever machine it ran. */
const ABANDONED_MS = 60_000;

/**
 * Runs `action` while it holds the lock `file`. Takes over a lock whose holder died.
 * @template T
 * @param {string} file
 * @param {{ onWait?: (holder: string) => void, pollMs?: number }} options
 * @param {() => Promise<T>} action
 * @returns {Promise<T>}
 */
export async function withLock(file, { onWait, pollMs = 200 }, action) {
  mkdirSync(dirname(file), { recursive: true });
  const mine = `${process.pid}@${hostname()}`;
  const take = () => codeOf(() => writeFileSync(file, mine, { flag: 'wx' }));
  let said = false;
  for (let problem = take(); problem !== undefined; problem = take()) {
    if (problem !== 'EEXIST') throw new Error(`the lock ${file} cannot be taken: ${problem}`);
    if (isAbandoned(file)) {
      clear(file);
      continue;
    }
    if (!said) onWait?.(holderOf(file));
    said = true;
    await sleep(pollMs);
  }
  // Fails if another process took the lock over after a long freeze. Both results end up in the same place.
  const refresh = setInterval(() => codeOf(() => utimesSync(file, new Date(), new Date())), REFRESH_MS);
  try {
    return await action();
  } finally {
    clearInterval(refresh);
    if (holderOf(file) === mine) rmSync(file, { force: true });
  }
}

/** @param {string} file */
function isAbandoned(file) {
  const touched = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (touched === undefined) return false;
  if (Date.now() - touched > ABANDONED_MS) return true;
  const [pid = '', host] = holderOf(file).split('@');
  // The holder of an empty file is still writing it.
  return pid !== '' && host === hostname() && codeOf(() => process.kill(Number(pid), 0)) === 'ESRCH';
}

/**
 * Two waiters may both find a lock abandoned. The rename lets one of them win. The slower one may rename a live lock, so
 * each checks the renamed file again and puts a live lock back.
 * @param {string} file
 */
function clear(file) {
  const aside = `${file}.${process.pid}.old`;
  if (codeOf(() => renameSync(file, aside)) !== undefined) return;
  if (isAbandoned(aside)) rmSync(aside, { force: true });
  else renameSync(aside, file);
}

/** @param {string} file */
function holderOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/**
 * The code of the error that `action` throws; undefined if it succeeds.
 * @param {() => void} action
 */
function codeOf(action) {
  try {
    action();
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN';
  }
}
