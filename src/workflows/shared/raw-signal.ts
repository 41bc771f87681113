/**
 * Signals whose arguments are decoded inside the handler. The SDK decodes them before, so one payload that cannot be
 * decoded fails every workflow task from then on (H35).
 */
import { type RawValue, rawValueTypeInfo } from '@temporalio/common';
import { defaultPayloadConverter, defineSignal, setHandler } from '@temporalio/workflow';

/** `handle` gets the first argument, or undefined if there is none or it cannot be decoded. It must not throw. */
export function onSignal({ name }: { name: string }, handle: (value: unknown) => void): void {
  // The sender chooses the number of arguments; the proxy declares each of them raw.
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
