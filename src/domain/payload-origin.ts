/**
 * What a worker's codec tells its workflows about a payload, in the payload's metadata: whether it was encrypted under a
 * known key, or is plain in a worker that refuses that. Only the codec writes these entries: it removes those of a sender.
 */

const ENCRYPTED = 'payouts-encrypted';
const REFUSED = 'payouts-refused';
const SET = Uint8Array.of(1);

interface Marked {
  metadata?: Record<string, Uint8Array> | null;
}

export type Origin = 'encrypted' | 'refused' | 'unknown';

export function withOrigin<P extends Marked>(payload: P, origin: Origin): P {
  const { [ENCRYPTED]: _encrypted, [REFUSED]: _refused, ...metadata } = payload.metadata ?? {};
  const marks = { encrypted: { [ENCRYPTED]: SET }, refused: { [REFUSED]: SET }, unknown: {} };
  return { ...payload, metadata: { ...metadata, ...marks[origin] } };
}

export function isEncrypted({ metadata }: Marked): boolean {
  return metadata?.[ENCRYPTED] !== undefined;
}

export function isRefused({ metadata }: Marked): boolean {
  return metadata?.[REFUSED] !== undefined;
}
