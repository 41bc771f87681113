/** Encodes the bodies of answers, as a gateway before the provider may. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Settings } from '../settings.ts';
import type { Answer } from './envelope.ts';

const ENCODERS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };

export function encoded(answer: Answer, { contentEncoding }: Settings): Answer {
  const { text, body = Buffer.from(text), headers } = answer;
  if (contentEncoding === 'none' || body.length === 0) return answer;
  return {
    ...answer,
    body: ENCODERS[contentEncoding](body),
    headers: { ...headers, 'content-encoding': contentEncoding },
  };
}
