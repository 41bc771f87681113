/** Sends a statement while it is read: no more of it is in memory than its reader has not taken yet. */
import { addAbortSignal, Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { CONTENT_TYPES, statementText } from '../batch-file/statement-file.ts';
import type { Statement, StatementFormat, StatementRow } from '../contract/statement.ts';

interface Sending {
  format: StatementFormat;
  details?: boolean | undefined;
  /** Of the file, without its extension. */
  name: string;
  /** Throws if the caller may no longer read. */
  requireAllowed: () => void;
}

/** An error breaks the connection, so that no part of a statement looks like all of it. */
export function sendStatement(
  reply: FastifyReply,
  { rows, isFinal, stop }: Statement & { stop: AbortSignal },
  { format, details, name, requireAllowed }: Sending,
): FastifyReply {
  const statement = { rows: whileAllowed(rows, requireAllowed), isFinal };
  const text = statementText(format, statement, details);
  const stream = addAbortSignal(stop, Readable.from(text));
  return reply
    .header('cache-control', 'no-store')
    .header('content-disposition', `attachment; filename="${name.replaceAll(/[^\w.-]/g, '-')}.${format}"`)
    .type(CONTENT_TYPES[format])
    .send(stream);
}

/** A long statement outlives the key of its caller. */
async function* whileAllowed(
  rows: AsyncIterable<StatementRow>,
  requireAllowed: () => void,
): AsyncGenerator<StatementRow> {
  for await (const row of rows) {
    requireAllowed();
    yield row;
  }
}
