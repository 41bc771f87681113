/** A received answer as an exchange: decoded, and limited in size. */
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { safeErrorCode } from './redact.ts';
import { type Exchange, errorWithCode } from './transport.ts';

interface Received {
  status: number;
  /** By lower-case name. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

export const BODY_TOO_LARGE = 'BODY_TOO_LARGE';
const MAX_CODINGS = 3;

export function receivedExchange({ status, headers, body }: Received, maxBodyBytes: number): Exchange {
  const valuesOf = (name: string) => [headers[name] ?? []].flat();
  const [[retryAfter], [date]] = [valuesOf('retry-after'), valuesOf('date')];
  try {
    const codings = valuesOf('content-encoding').join(',');
    return { kind: 'answer', status, body: decodedBody(body, codings, maxBodyBytes), retryAfter, date };
  } catch (error) {
    const code = safeErrorCode(error);
    const tooLarge = code === BODY_TOO_LARGE || code === 'ERR_BUFFER_TOO_LARGE';
    const transportCode = tooLarge ? BODY_TOO_LARGE : 'UNDECODABLE_BODY';
    return { kind: 'broken-answer', status, transportCode, tooLarge };
  }
}

type Decode = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

/** `deflate` means zlib, but some servers send it without zlib's header, whose first byte ends in 8. */
const inflate: Decode = (body, options) =>
  ((body[0] ?? 0) & 0x0f) === 8 ? inflateSync(body, options) : inflateRawSync(body, options);

const DECODERS = new Map<string, Decode>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflate],
  ['br', brotliDecompressSync],
]);

function decodedBody(body: Buffer, contentEncoding: string, maxOutputLength: number): Buffer {
  if (body.length > maxOutputLength) throw errorWithCode(BODY_TOO_LARGE);
  const codings = contentEncoding.split(',').map((coding) => coding.trim().toLowerCase());
  if (codings.length > MAX_CODINGS) throw errorWithCode('TOO_MANY_CODINGS');
  // The last coding was applied last.
  return codings.reduceRight((encoded, coding) => decodedOnce(encoded, coding, maxOutputLength), body);
}

/** A coding that nobody knows says nothing: JSON is JSON. A gateway may also decode a body and leave the header. */
function decodedOnce(body: Buffer, coding: string, maxOutputLength: number): Buffer {
  const decode = DECODERS.get(coding);
  // No encoded body begins with `{`.
  const isPlain = body.length === 0 || body[0] === 0x7b;
  return decode && !isPlain ? decode(body, { maxOutputLength }) : body;
}
