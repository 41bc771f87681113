/** Lists by page. */
import type { PageRequest } from '../../contract/lists.ts';
import type { Answer } from './answer.ts';
import type { Page } from './options.ts';

const MAX_PAGE_SIZE = 100;

interface Rows<Row> {
  rows: Row[];
  nextCursor?: string;
}

/** The rows of `page`, which may need several requests. */
export async function collect<Row>(
  { limit, cursor }: Page,
  request: (page: PageRequest) => Promise<Rows<Row>>,
): Promise<Rows<Row>> {
  const rows: Row[] = [];
  for (let from = cursor; ; ) {
    const next = await request({ limit: Math.min(limit - rows.length, MAX_PAGE_SIZE), cursor: from });
    rows.push(...next.rows);
    from = next.nextCursor;
    if (from === undefined) return { rows };
    if (rows.length >= limit) return { rows, nextCursor: from };
  }
}

/** `name`: the key of the rows in JSON, as in the answers of the API server. */
export function listAnswer(
  name: string,
  { isPage }: Page,
  rows: readonly object[],
  text: string,
  nextCursor: string | undefined,
): Answer {
  return {
    json: isPage ? { [name]: rows, ...(nextCursor !== undefined && { nextCursor }) } : rows,
    text,
    hint: nextCursor && `more: repeat the command with --cursor ${nextCursor}`,
  };
}
