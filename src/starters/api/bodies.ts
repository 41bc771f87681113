/** Bodies as they are read: a repeated key or a deep nest is refused, for two readers could read it differently. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isJsonObject, NotJsonError, readExactJson } from '../../payments/exact-json.ts';
import { Problem } from './problem.ts';

const LIMITS = { maxDepth: 16, uniqueKeys: true };
/** 50,000 rows of the usual size, one a line. */
const MOST_BYTES_OF_ROWS = 40 * 1024 * 1024;
/** As one document, which has to be read at once. */
const MOST_BYTES_OF_A_BATCH = 4 * 1024 * 1024;

export function readBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (_request: unknown, body: unknown) => json(bytesOf(body)),
  );
}

/** A batch also comes as NDJSON: the body is its rows, and the address says which batch it is. */
export function readBatches(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: MOST_BYTES_OF_A_BATCH },
    async (_request: unknown, body: unknown) => json(bytesOf(body)),
  );
  scope.addContentTypeParser(
    'application/x-ndjson',
    { parseAs: 'buffer', bodyLimit: MOST_BYTES_OF_ROWS },
    async (request: FastifyRequest, body: unknown) => ({
      ...(isJsonObject(request.query) ? request.query : {}),
      payouts: rowsOf(bytesOf(body)),
    }),
  );
}

function json(bytes: Buffer, which = 'the body'): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return readExactJson(bytes, LIMITS);
  } catch (error) {
    if (error instanceof NotJsonError) throw new Problem(400, `${which} is not usable: ${error.message}`);
    throw error;
  }
}

function rowsOf(bytes: Buffer): unknown[] {
  const rows: unknown[] = [];
  for (let [from, line] = [0, 1]; from < bytes.length; line += 1) {
    const end = bytes.indexOf('\n', from);
    const to = end === -1 ? bytes.length : end;
    const row = bytes.subarray(from, to);
    if (row.toString('latin1').trim() !== '') rows.push(json(row, `line ${line}`));
    from = to + 1;
  }
  return rows;
}

function bytesOf(body: unknown): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}
