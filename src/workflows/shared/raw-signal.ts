/**
 * Signals whose arguments stay undecoded until their handler looks: a payload that cannot be decoded would otherwise
 * fail every workflow task from then on.
 */
import { type RawValue, rawValueTypeInfo } from '@temporalio/common';
import { defaultPayloadConverter, defineSignal, setHandler } from '@temporalio/workflow';

/** `handle` gets the first argument; undefined where there is none, or none that can be read. It must not throw. */
export function onSignal({ name }: { name: string }, handle: (value: unknown) => void): void {
  // The proxy says "raw" for however many arguments come.
  const raw = defineSignal<RawValue[]>(name, {
    typeInfo: { inputTypes: new Proxy([], { get: () => rawValueTypeInfo }) },
  });
  setHandler(raw, (value) => handle(decoded(value)));
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function decoded(raw: RawValue | undefined): unknown {
  try {
    return raw && defaultPayloadConverter.fromPayload(raw.payload);
  } catch {
    return undefined;
  }
}
