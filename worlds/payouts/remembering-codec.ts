/**
 * Remembers what each key ring of a world has encrypted and decrypted. Equal payloads get one ciphertext: a lease renews
 * with the same details thousands of times, and every replay reads the whole history again.
 */
import type { DataConverter, Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import type { KeyRing } from '../../src/encryption/key-ring.ts';

interface Memory {
  readonly encoded: Map<string, Payload>;
  /** By class: the codec of workers marks what it has decrypted, and that of clients does not. */
  readonly decoded: Map<unknown, Map<string, Payload>>;
}
type Convert = (payloads: Payload[]) => Promise<Payload[]>;

const memories = new WeakMap<KeyRing, Memory>();

/** `ring`: the keys of the converter. */
export function remembering(converter: DataConverter, ring: KeyRing | undefined): DataConverter {
  const { payloadCodecs } = converter;
  if (!ring || !payloadCodecs) return converter;
  return { ...converter, payloadCodecs: payloadCodecs.map((codec) => rememberingCodec(codec, ring)) };
}

export function rememberingCodec(codec: PayloadCodec, ring: KeyRing): PayloadCodec {
  const memory = memories.get(ring) ?? { encoded: new Map(), decoded: new Map() };
  memories.set(ring, memory);
  const decoded = memory.decoded.get(codec.constructor) ?? new Map<string, Payload>();
  memory.decoded.set(codec.constructor, decoded);
  return {
    encode: (payloads, context) =>
      recall(memory.encoded, payloads, context, (missing) => codec.encode(missing, context)),
    decode: (payloads, context) =>
      recall(decoded, payloads, context, (missing) => codec.decode(missing, context)),
  };
}

async function recall(
  known: Map<string, Payload>,
  payloads: Payload[],
  context: SerializationContext | undefined,
  convert: Convert,
): Promise<Payload[]> {
  const place = JSON.stringify(context);
  const keys = payloads.map((payload) => `${place} ${keyOf(payload)}`);
  const missing = new Map(
    payloads.flatMap((payload, at) => {
      const key = keys[at];
      return key === undefined || known.has(key) ? [] : [[key, payload] as const];
    }),
  );
  if (missing.size > 0) {
    const converted = await convert([...missing.values()]);
    for (const [at, key] of [...missing.keys()].entries()) {
      const payload = converted[at];
      if (payload) known.set(key, payload);
    }
  }
  return keys.flatMap((key) => known.get(key) ?? []);
}

function keyOf({ metadata, data }: Payload): string {
  const fields = Object.entries(metadata ?? {}).map(([name, value]) => `${name}=${latin1(value)}`);
  return `${fields.join(' ')} ${data ? latin1(data) : ''}`;
}

/** An empty field decodes to an array. */
function latin1(bytes: Uint8Array): string {
  const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(bytes) ? bytes : Buffer.from(bytes);
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1');
}
