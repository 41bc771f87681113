/**
 * The log of a process, on standard error: one JSON object per line, or text at a terminal. It never holds
 * a secret or personal data: every line has codes, ids and counts only.
 */
import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { z } from 'zod';
import type { EventLogger } from '../domain/telemetry.ts';

export interface LogSettings {
  PAYOUTS_LOG_LEVEL: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  PAYOUTS_LOG_FORMAT: 'auto' | 'json' | 'text';
}

export type Log = Logger;
/** What code that only reports problems needs of a log. */
export type ProblemLog = Pick<Logger, 'warn' | 'error'>;

/** For `logEvent`, of a process that logs by itself: workflows and activities have the SDK's logger. */
export function eventLogger(log: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>): EventLogger {
  return {
    debug: (message, fields) => log.debug(fields, message),
    info: (message, fields) => log.info(fields, message),
    warn: (message, fields) => log.warn(fields, message),
    error: (message, fields) => log.error(fields, message),
  };
}

/** `processName`: which of our programs writes it, in every line. */
export function createLog(processName: string, settings: LogSettings): Log {
  const { stream, ...options } = logOptions(processName, settings);
  return pino(options, stream);
}

/** The same log in the form in which Fastify accepts it. */
export function logOptions(
  processName: string,
  { PAYOUTS_LOG_LEVEL: level, PAYOUTS_LOG_FORMAT: format }: LogSettings,
  standardError: DestinationStream = process.stderr,
): LoggerOptions & { stream: DestinationStream } {
  const isText = format === 'text' || (format === 'auto' && process.stderr.isTTY === true);
  return {
    level,
    base: { process: processName },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { error: errorFields, err: errorFields },
    stream: isText ? textLines(standardError) : standardError,
  };
}

/** An error without the fields that libraries attach to it, which may hold a request or a payload. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const type: unknown = 'type' in error ? error.type : undefined;
  return {
    name,
    message,
    ...(typeof type === 'string' && { type }),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && { cause: errorFields(cause) }),
  };
}

function textLines(to: DestinationStream): DestinationStream {
  return { write: (line) => to.write(asText(line)) };
}

const lineSchema = z.record(z.string(), z.unknown());

/** `10:15:00 WARN message field=value`. */
function asText(line: string): string {
  const { level, time, msg = '', process: _process, ...fields } = lineSchema.parse(JSON.parse(line));
  const rest = Object.entries(fields).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const clock = String(time).slice('2026-01-31T'.length, '2026-01-31T10:15:00'.length);
  return `${clock} ${String(level).toUpperCase()} ${msg}${rest.join('')}\n`;
}
