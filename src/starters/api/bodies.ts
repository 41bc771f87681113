/** Parses request bodies. Rejects duplicate keys and deep nesting, which other parsers may read differently. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { exactNumberText, isJsonObject, NotJsonError, readExactJson } from '../../payments/exact-json.ts';
import { ndjsonLines } from '../ndjson.ts';
import { Problem } from './problem.ts';

const LIMITS = { maxDepth: 16, uniqueKeys: true };
/** About 50,000 rows of ordinary size. */
const MAX_NDJSON_BYTES = 40 * 1024 * 1024;
/** Lower, because the document is parsed as a whole. */
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** A whole number of a parsed body, whose numbers are exact. */
export const wholeNumber = () =>
  z.preprocess((value) => {
    const digits = exactNumberText(value);
    return digits === undefined ? value : Number(digits);
  }, z.int().min(0));

export function acceptJson(scope: FastifyInstance, bodyLimit?: number): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', ...(bodyLimit !== undefined && { bodyLimit }) },
    async (_request: unknown, body: unknown) => parseJson(bytesOf(body), 'the body'),
  );
}

/** Accepts a batch as JSON, or as NDJSON: the body is the rows, and the query has `batchId` and `app`. */
export function acceptBatches(scope: FastifyInstance): void {
  acceptJson(scope, MAX_BATCH_BYTES);
  scope.addContentTypeParser(
    'application/x-ndjson',
    { parseAs: 'buffer', bodyLimit: MAX_NDJSON_BYTES },
    async (request: FastifyRequest, body: unknown) => ({
      ...(isJsonObject(request.query) ? request.query : {}),
      payouts: Array.from(ndjsonLines(bytesOf(body)), (line) => parseJson(line.bytes, `line ${line.number}`)),
    }),
  );
}

function parseJson(bytes: Buffer, what: string): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return readExactJson(bytes, LIMITS);
  } catch (error) {
    if (error instanceof NotJsonError)
      throw new Problem('malformed-request', `${what} is invalid: ${error.message}`);
    throw error;
  }
}

function bytesOf(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}
