/** What a process has used so far, from Linux's /proc. */
import { readFileSync } from 'node:fs';

/** Of `/proc/PID/stat`: the kernel counts in hundredths of a second, whatever its own tick is. */
const MS_PER_TICK = 10;
/** Counted after the command's name, which may hold spaces: user and system time. */
const [USER_TIME, SYSTEM_TIME] = [11, 12];

/** Milliseconds of CPU, user and system, since the process began. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * MS_PER_TICK;
}

/** MiB in memory now. */
export function rssMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024;
}

export function pidOf({ pid }: { pid?: number | undefined }): number {
  if (pid === undefined) throw new Error('the process has not begun');
  return pid;
}
