/**
 * The data converter of every process. It encrypts payloads in the format of Temporal's own samples in every language:
 * `encoding: binary/encrypted`, `encryption-key-id`, and nonce, ciphertext and tag over the serialized payload.
 *
 * The encrypted payload names its workflow and its activity, so that nobody without a key can put it into another one
 * (H326, H336). Those of other programs name none.
 */

import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataConverter, Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import proto from '@temporalio/proto';
import { withOrigin } from '../domain/payload-origin.ts';
import type { Random } from '../runtime/runtime.ts';
import { type KeyRing, UndecipherableError, UnknownKeyError } from './key-ring.ts';

const ENCODING = 'encoding';
const ENCRYPTED = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
/** Inside the ciphertext. */
const WORKFLOW_ID = 'workflow-id';
const ACTIVITY_ID = 'activity-id';

const { Payload: PayloadProto } = proto.temporal.api.common.v1;

export class EncryptionCodec implements PayloadCodec {
  readonly #ring: KeyRing;
  readonly #random: Random;

  constructor(ring: KeyRing, random: Random) {
    this.#ring = ring;
    this.#random = random;
  }

  async encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return payloads.map((payload) => this.#encrypted(payload, context));
  }

  /**
   * Accepts plain payloads from callers and from the UI. Throws `UnknownKeyError` for an unknown key: the task fails and
   * is retried, because the key may be added. A payload that a known key cannot decrypt is returned unchanged, because it
   * will never be readable: a signal handler replaces it with a marker, anything else fails its task.
   */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => this.#decrypted(payload));
  }

  #encrypted(given: Payload, context: SerializationContext | undefined): Payload {
    const payload = { ...given, metadata: { ...given.metadata, ...placeOf(context) } };
    const plain = PayloadProto.encode(PayloadProto.fromObject(payload)).finish();
    return {
      metadata: { [ENCODING]: Buffer.from(ENCRYPTED), [KEY_ID]: Buffer.from(this.#ring.current) },
      data: this.#ring.encrypt(plain, this.#random),
    };
  }

  #decrypted(payload: Payload): Payload {
    if (text(payload.metadata?.[ENCODING]) !== ENCRYPTED) return payload;
    try {
      const plain = this.#ring.decrypt(text(payload.metadata?.[KEY_ID]), payload.data ?? new Uint8Array());
      return decodePayload(plain) ?? payload;
    } catch (error) {
      if (error instanceof UndecipherableError) return payload;
      throw error;
    }
  }
}

/** Our Schedules start their workflows under the id that they name, and the time. */
const SCHEDULED = /^(payout-(?:reconciliation|report):.*)-\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

type Place = Pick<SerializationContext, 'workflowId'> & { activityId?: string | undefined };

function placeOf(context: SerializationContext | undefined): Record<string, Uint8Array> {
  const { workflowId, activityId }: Place = context ?? {};
  return {
    ...(workflowId !== undefined && { [WORKFLOW_ID]: Buffer.from(workflowId) }),
    ...(activityId !== undefined && { [ACTIVITY_ID]: Buffer.from(activityId) }),
  };
}

/** Whether a decoded payload was encrypted for another workflow or activity than this one. */
export function isForeign({ metadata }: Payload, { workflowId, activityId }: Place): boolean {
  if (!metadata?.[WORKFLOW_ID] || workflowId === undefined) return false;
  return text(metadata[ACTIVITY_ID]) !== (activityId ?? '') || isOfAnother({ metadata }, workflowId);
}

function isOfAnother({ metadata }: Payload, workflowId: string | undefined): boolean {
  if (!metadata?.[WORKFLOW_ID] || workflowId === undefined) return false;
  const named = text(metadata[WORKFLOW_ID]);
  return named !== workflowId && named !== SCHEDULED.exec(workflowId)?.[1];
}

/**
 * The codec of clients. Whoever can write to the namespace can put a payload of one workflow into the result, the memo or
 * the history of another one. It stays unreadable there, because callers who may read that one may not read it (H341).
 */
export class ClientCodec extends EncryptionCodec {
  override async decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    const decoded = await super.decode(payloads);
    // The failure of a workflow contains payloads of its activities.
    const isUnreadable = (payload: Payload) => isOfAnother(payload, context?.workflowId);
    return decoded.map((payload, at) => (isUnreadable(payload) ? (payloads[at] ?? payload) : payload));
  }
}

/** What workers do with starts, decisions and activities whose payloads are not encrypted. */
export type PlainPayloads = 'refuse' | 'accept';

/**
 * The codec of workers. Workflows read from the marks which payloads were encrypted, and refuse plain ones where that is
 * deterministic. Nothing depends on how often an activity or its result is refused, so this codec refuses those itself:
 * whoever can write to the namespace can schedule activities, and answer them, without our workflows.
 */
export class WorkerCodec extends EncryptionCodec {
  readonly #plain: PlainPayloads;

  constructor(ring: KeyRing, random: Random, plain: PlainPayloads) {
    super(ring, random);
    this.#plain = plain;
  }

  override async decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    const decoded = await super.decode(payloads);
    return decoded.map((payload, at) => this.#marked(payload, payload === payloads[at], context));
  }

  /** One that a known key cannot decrypt counts as neither: another key with its id may be wrong in this process. */
  #marked(payload: Payload, isUnchanged: boolean, context: SerializationContext | undefined): Payload {
    // An activity that no workflow scheduled is not ours.
    const isStray = context?.type === 'activity' && context.workflowId === undefined;
    const isOwn = !isUnchanged && !isStray && !isForeign(payload, context ?? {});
    if (isOwn) return withOrigin(payload, 'encrypted');
    if (this.#plain === 'accept' || keyIdOf(payload) !== undefined) return withOrigin(payload, 'unknown');
    if (context?.type === 'activity') return ofServer(payload);
    return withOrigin(payload, 'refused');
  }
}

/** Details of the cancellation of an activity that no worker runs. Temporal's server writes them, and encrypts nothing. */
const NOT_STARTED = '"ACTIVITY_ID_NOT_STARTED"';

/**
 * Lets the cancellation pass, whose details the failure converter drops. As a result, the payload can't be converted: anybody
 * who can write to the namespace can write it (H366). Throws `PlainPayloadError` for any other payload.
 */
function ofServer({ data }: Payload): Payload {
  if (text(data) !== NOT_STARTED) throw new PlainPayloadError();
  return { metadata: { [ENCODING]: Buffer.from('payouts/of-server') } };
}

export class PlainPayloadError extends Error {
  override readonly name = 'PlainPayloadError';
  constructor() {
    super(
      'an argument or a result of an activity is not encrypted for its workflow, and PAYOUTS_PLAIN_PAYLOADS refuses that',
    );
  }
}

/**
 * Whether an error of Temporal's client means that this process cannot decrypt a payload: it has no key, no key with the id,
 * or another key with the id.
 */
export function isUndecryptable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isKnown = error instanceof UnknownKeyError || error.message === `Unknown encoding: ${ENCRYPTED}`;
  return isKnown || isUndecryptable(error.cause);
}

/** The id of the key that encrypted a payload. Undefined if it is not encrypted. */
export function keyIdOf({ metadata }: Payload): string | undefined {
  return text(metadata?.[ENCODING]) === ENCRYPTED ? text(metadata?.[KEY_ID]) : undefined;
}

/** Undefined if the plaintext is not a payload. */
function decodePayload(plain: Buffer): Payload | undefined {
  try {
    return PayloadProto.decode(plain);
  } catch {
    return undefined;
  }
}

function text(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}

/** Needed without keys too, because the workflow bundle contains it. In a built package, a `.js` file. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(
  new URL(`./failure-converter${extname(import.meta.url)}`, import.meta.url),
);

/** For replays, and for workers of Nexus operations. */
export function dataConverter(ring: KeyRing | undefined, random: Random): DataConverter {
  return converterWith(ring && new EncryptionCodec(ring, random));
}

export function clientConverter(ring: KeyRing | undefined, random: Random): DataConverter {
  return converterWith(ring && new ClientCodec(ring, random));
}

/** For workers, except those of Nexus operations, whose callers have no key. */
export function workerConverter(
  ring: KeyRing | undefined,
  random: Random,
  plain: PlainPayloads,
): DataConverter {
  return converterWith(ring && new WorkerCodec(ring, random, plain));
}

function converterWith(codec: PayloadCodec | undefined): DataConverter {
  return { failureConverterPath: FAILURE_CONVERTER_PATH, ...(codec && { payloadCodecs: [codec] }) };
}
