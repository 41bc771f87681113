/**
 * Keeps the SDK from recording where each promise of a workflow was made: a stack trace, source maps and evaluated code per
 * promise, most of a workflow's CPU time. Only the Call Stack of the Temporal UI shows it; a payout shows its state instead.
 * Errors keep their stack traces.
 *
 * The SDK's hook evaluates code in a promise's workflow by `promise.constructor.constructor`, which is `Function`. What
 * stands in for it here returns the same workflow, which unhandled rejections need too, but an `Error` without a trace.
 */

class Untraced {}

const VALUES: Readonly<Record<string, () => unknown>> = {
  'return globalThis.__TEMPORAL_ACTIVATOR__': () => Reflect.get(globalThis, '__TEMPORAL_ACTIVATOR__'),
  'return globalThis.Error': () => Untraced,
};

/** Another SDK may evaluate something else. */
const evaluated = (code: string) => VALUES[code] ?? Function(code);

Object.defineProperty(Promise, 'constructor', { value: evaluated });
