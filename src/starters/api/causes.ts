/** What a log may say of an error: no text that comes from a request, the provider or Temporal. */
import { TooManyReadsError } from '../../client/shared-reads.ts';
import { Problem } from '../../service/problem.ts';
import { grpcStatusOf } from '../../temporal/client-errors.ts';

/** Errors whose messages contain only our own words. */
const OWN = [Problem, TooManyReadsError];
const MAX_CAUSES = 5;
const MAX_FRAMES = 5;

export interface Cause {
  name: string;
  /** Such as `ECONNREFUSED`. */
  code?: string;
  /** Such as `DEADLINE_EXCEEDED`. */
  grpcStatus?: string;
  /** The type of a Temporal failure. */
  type?: string;
  message?: string;
  /** Where it was thrown. */
  at?: string[];
}

/** The error and its causes, the outermost first. */
export function causesOf(error: unknown): Cause[] {
  const causes: Cause[] = [];
  for (let next = error; next !== undefined && causes.length < MAX_CAUSES; next = causeOf(next))
    causes.push(described(next));
  return causes;
}

function described(error: unknown): Cause {
  if (!(error instanceof Error)) return { name: typeof error };
  const code = wordOf('code' in error ? error.code : undefined);
  const type = wordOf('type' in error ? error.type : undefined);
  const grpcStatus = grpcStatusOf(error);
  const at = framesOf(error);
  return {
    name: wordOf(error.name) ?? 'Error',
    ...(code !== undefined && { code }),
    ...(grpcStatus !== undefined && { grpcStatus }),
    ...(type !== undefined && { type }),
    ...(OWN.some((kind) => error instanceof kind) && { message: error.message }),
    ...(at.length > 0 && { at }),
  };
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

/** Codes, types and names are single words; other text may contain anything. */
function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^\w{1,64}$/.test(value) ? value : undefined;
}

/** Without the message, with which the stack begins. */
function framesOf({ stack = '', message }: Error): string[] {
  const frames = stack.slice(stack.indexOf(message) + message.length).split('\n');
  return frames
    .map((line) => line.trim())
    .filter((line) => line.startsWith('at ') && !line.includes('node:internal'))
    .slice(0, MAX_FRAMES);
}
