/** A file lock between processes, and what they put into the cache folder under it. */
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const REFRESH_MS = 2_000;
/** A holder that has not refreshed its file for this long is gone, on whichever machine it ran. */
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
  let said = false;
  while (!tryTake(file, mine)) {
    if (isAbandoned(file)) {
      clear(file);
      continue;
    }
    if (!said) onWait?.(holderOf(file));
    said = true;
    await sleep(pollMs);
  }
  const refresh = setInterval(() => touch(file), REFRESH_MS);
  try {
    return await action();
  } finally {
    clearInterval(refresh);
    if (holderOf(file) === mine) rmSync(file, { force: true });
  }
}

/**
 * Puts a file or a folder into the cache, once, even if several commands want it at the same time.
 * @param {string} target
 * @param {{ isReady: () => Promise<boolean>, say: (line: string) => void }} options
 * @param {(folder: string) => Promise<string | undefined>} make
 *   makes it in a folder of its own and returns its path; undefined, after a message, if that is not possible
 * @returns {Promise<boolean>} whether `target` is ready
 */
export async function intoCache(target, { isReady, say }, make) {
  if (await isReady()) return true;
  const onWait = () => say(`another command is getting ${basename(target)}; waiting for it`);
  return withLock(`${target}.lock`, { onWait }, async () => {
    if (await isReady()) return true;
    // On the same file system as the target, so that the move is atomic.
    const folder = mkdtempSync(join(dirname(target), '.new-'));
    try {
      const made = await make(folder);
      if (made === undefined) return false;
      rmSync(target, { recursive: true, force: true });
      renameSync(made, target);
      return await isReady();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/**
 * @param {string} file
 * @param {string} mine
 */
function tryTake(file, mine) {
  try {
    writeFileSync(file, mine, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} file */
function isAbandoned(file) {
  const [pid = '', host] = holderOf(file).split('@');
  const age = ageOf(file);
  if (age === undefined) return false;
  if (age > ABANDONED_MS) return true;
  // The holder of an empty file is still writing it.
  if (pid === '' || host !== hostname()) return false;
  return !isAlive(Number(pid));
}

/**
 * Two waiters may both find a lock abandoned. The rename lets one of them win. The slower one may rename a live lock, so
 * each checks the renamed file again and puts a live lock back.
 * @param {string} file
 */
function clear(file) {
  const aside = `${file}.${process.pid}.old`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
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

/** @param {string} file */
function ageOf(file) {
  try {
    return Date.now() - statSync(file).mtimeMs;
  } catch {
    return undefined;
  }
}

/** @param {string} file */
function touch(file) {
  try {
    utimesSync(file, new Date(), new Date());
  } catch {
    // Another process took the lock over after a long freeze. Both results end up in the same place.
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
