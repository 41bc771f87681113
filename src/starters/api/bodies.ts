/** Parses request bodies. Rejects what other parsers may read differently: duplicate keys, deep nesting, repeated headers. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { exactNumberText, isJsonObject, NotJsonError, readExactJson } from '../../payments/exact-json.ts';
import { Problem } from '../../service/problem.ts';
import { BatchFile } from '../batch-file/batch-file.ts';

const LIMITS = { maxDepth: 16, uniqueKeys: true };
const FILES = [
  ['application/x-ndjson', 'ndjson'],
  ['text/csv', 'csv'],
] as const;
/** About 50,000 rows of ordinary size. */
const MAX_FILE_BYTES = 40 * 1024 * 1024;
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

/** Accepts a batch as JSON, or as a file of payouts, which becomes a `BatchFile`. */
export function acceptBatches(scope: FastifyInstance): void {
  acceptJson(scope, MAX_BATCH_BYTES);
  for (const [type, format] of FILES)
    scope.addContentTypeParser(
      type,
      { parseAs: 'buffer', bodyLimit: MAX_FILE_BYTES },
      async (_request: unknown, body: unknown) => new BatchFile(bytesOf(body), format),
    );
}

/** Throws a 400 for what Fastify would ignore: the body of a GET, and a second content type. */
export function requireReadableBody(request: FastifyRequest): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (request.method === 'GET' && (length !== '0' || encoding !== undefined))
    throw new Problem('ambiguous-request', 'this route takes no body');
  requireOneHeader(request, 'content-type');
}

/** Node uses the first of several, and a proxy may use the last. Throws a 400. */
export function requireOneHeader({ raw: { rawHeaders } }: FastifyRequest, name: string): void {
  const names = rawHeaders.filter((_, at) => at % 2 === 0);
  if (names.filter((each) => each.toLowerCase() === name).length > 1)
    throw new Problem('ambiguous-request', `the header ${name} is repeated`);
}

/** The path names the application: throws a 400 if the query does, too. */
export function requireNoAppInQuery({ query }: FastifyRequest): void {
  if (isJsonObject(query) && Object.hasOwn(query, 'app'))
    throw new Problem('ambiguous-request', 'the path names the application: the query must not contain app');
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
