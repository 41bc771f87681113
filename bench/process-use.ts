/** CPU time and memory of a process, from Linux's /proc. */
import { readFileSync } from 'node:fs';

/** `/proc/PID/stat` counts in hundredths of a second, whatever the kernel's own tick is. */
const MS_PER_TICK = 10;
/** Field numbers of user and system time after the command's name, which may contain spaces. */
const [USER_TIME, SYSTEM_TIME] = [11, 12];

/** User and system CPU time since the start of the process, in ms. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) * MS_PER_TICK;
}

/** User and system CPU time of several processes, in ms. */
export function allCpuMs(processes: readonly { pid?: number | undefined }[]): number {
  return processes.reduce((sum, process) => sum + cpuMs(pidOf(process)), 0);
}

/** Resident memory, in MiB. */
export function rssMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1_024;
}

export function pidOf({ pid }: { pid?: number | undefined }): number {
  if (pid === undefined) throw new Error('the process has not started');
  return pid;
}
