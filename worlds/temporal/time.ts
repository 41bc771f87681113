/** Converts protobuf timestamps and durations from and to milliseconds. */
import { Long } from '../sdk.ts';

interface Stamp {
  seconds?: Long | null;
  nanos?: number | null;
}

/** Rounded to the microsecond, so that repeated conversions do not change a time. */
export function toStamp(ms: number): { seconds: Long; nanos: number } {
  const micros = Math.round(ms * 1000);
  const seconds = Math.floor(micros / 1e6);
  return { seconds: Long.fromNumber(seconds), nanos: (micros - seconds * 1e6) * 1000 };
}

export function toMs(stamp: Stamp | null | undefined): number {
  return Number(stamp?.seconds ?? 0) * 1000 + (stamp?.nanos ?? 0) / 1e6;
}

/** An absent or zero duration means none. */
export function durationMs(duration: Stamp | null | undefined): number | undefined {
  return toMs(duration) || undefined;
}
