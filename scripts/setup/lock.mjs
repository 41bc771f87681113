/** Lets one process at a time do a thing, across the processes of this machine. */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const REFRESH_MS = 2_000;
/** A holder refreshes its file; one that has not for this long is gone, wherever it ran. */
const ABANDONED_MS = 60_000;

/**
 * Runs `action` while holding the lock `file`. A lock whose holder died is taken over.
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
  // An empty file is one that its holder is just writing.
  if (pid === '' || host !== hostname()) return false;
  return !isAlive(Number(pid));
}

/**
 * Two waiters may both find a lock abandoned. Renaming lets one of them win, and the one that comes late
 * would rename a live lock away, so what was taken away is looked at once more and put back if it lives.
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
    // Taken from us after a long freeze: the other one goes on, and both installs end in the same place.
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
