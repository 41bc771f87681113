/**
 * `/desk/batches/preview`: what a file would start, or why it starts nothing; and the start. Until then, uploaded files are in
 * the memory of this process, for a limited time.
 */
import multipart, { type Multipart } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BatchFile } from '../batch-file/batch-file.ts';
import { BatchFileError } from '../batch-file/rows.ts';
import { InvalidPayoutRequestError } from '../client/invalid-request.ts';
import type { FieldError } from '../contract/failures.ts';
import { totalsByCurrency } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { requireApplication, requireRows, requireVerb } from '../service/permissions.ts';
import { invalidFields, Problem } from '../service/problem.ts';
import { batchWarnings, dailyUse } from './batch-notes.ts';
import { type Desk, type Fields, filledIn, getPage, postForm } from './context.ts';
import { type Html, hidden, html, isolated, link, maskedAccount, money, table } from './html.ts';
import { admittedVisit, requireOwnOrigin, type Visit } from './identity.ts';
import { sendPage } from './layout.ts';

const SHOWN_ROWS = 50;
/** As for a batch in JSON. */
const MAX_UPLOAD_BYTES = 4 * 1024 * 1024;
const LIMITS = { files: 1, fields: 5, fieldSize: 256, fileSize: MAX_UPLOAD_BYTES, headerPairs: 20 };

export function uploadRoutes(scope: FastifyInstance, desk: Desk, uploads: Uploads): void {
  scope.register(async (uploading) => {
    await uploading.register(multipart, { limits: LIMITS });
    uploading.post('/batches/preview', {
      onRequest: async (request, reply) => {
        requireVerb(desk.identity.admit(request, reply).caller, 'batch');
        requireOwnOrigin(request);
      },
      onSend: desk.audit.recorder({ method: 'POST', path: '/desk/batches/preview', verb: 'batch' }),
      handler: async (request, reply) => {
        const { fields, file } = await uploadIn(request);
        desk.identity.requireOwnForm(request, fields['formToken']);
        const { app = 'default', batchId = '' } = filledIn(fields, 'app', 'batchId');
        // For the audit trail.
        request.body = { app, batchId };
        const visit = admittedVisit(request);
        requireApplication(visit.caller, app);
        const owner = { owner: visit.formToken, person: visit.caller.name };
        const upload = uploads.keep({ ...owner, app, batchId, ...file });
        return reply.redirect(link('/desk/batches/preview', { upload, app, batchId }), 303);
      },
    });
  });

  getPage(scope, desk, '/batches/preview', async (visit, _request, reply, query) => {
    requireVerb(visit.caller, 'batch');
    const { upload: id = '' } = filledIn(query, 'upload');
    const upload = uploads.get(id, visit.formToken);
    const preview = await previewOf(desk, visit, upload);
    return sendPage(reply, {
      ...{ title: `Preview of batch ${upload.batchId}`, visit, section: 'Batches' },
      content: previewContent(visit, upload, id, preview),
    });
  });

  postForm(scope, desk, { path: '/batches/start', verb: 'batch' }, async (visit, _request, reply, fields) => {
    const id = fields['upload'] ?? '';
    const { app, batchId, bytes } = uploads.get(id, visit.formToken);
    await desk.acting.run(visit.caller, 'POST /v1/payout-batches', {
      query: { app, batchId },
      body: new BatchFile(bytes),
    });
    uploads.discard(id);
    return reply.redirect(link('/desk/batch', { app, batchId }), 303);
  });
}

export function uploadForm({ formToken }: Visit): Html {
  return html`<h2 id="upload">Upload a batch</h2>
<form method="post" action="/desk/batches/preview" enctype="multipart/form-data" aria-labelledby="upload">${hidden({ formToken })}
<div class="filters"><div><label for="batchId">Batch id</label><input id="batchId" name="batchId" maxlength="64" required></div>
<div><label for="app">Application</label><input id="app" name="app" maxlength="32" value="default"></div>
<div><label for="file">File: CSV, NDJSON or a JSON array, up to 4 MiB</label><input id="file" name="file" type="file" accept=".csv,.txt,.ndjson,.jsonl,.json,text/csv,application/x-ndjson" required></div>
<div><button>Preview</button></div></div>
<p class="faint">The columns of a CSV file are the fields of a payout request by path, such as <code>partnerOrderId</code>, <code>instructedAmount.amount</code> and <code>receiver.bankName</code>; <code>metadata.KEY</code> is a pair of metadata. Save a spreadsheet as “CSV UTF-8”, with the numbers of accounts and identity cards as text. Nothing starts before you have seen the preview.</p></form>`;
}

async function uploadIn(
  request: FastifyRequest,
): Promise<{ fields: Fields; file: Pick<Upload, 'bytes' | 'fileName'> }> {
  if (!request.isMultipart()) throw new Problem('unsupported-media-type', 'this form uploads a file');
  const fields: Record<string, string> = {};
  let file: Pick<Upload, 'bytes' | 'fileName'> | undefined;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'file') file = { bytes: await part.toBuffer(), fileName: part.filename };
      else fields[part.fieldname] = textOf(part);
    }
  } catch (error) {
    // Errors of the limits have a status; those of the parser have none.
    if (error instanceof Error && !('statusCode' in error))
      throw new Problem('malformed-request', 'the upload is incomplete, or is not multipart/form-data');
    throw error;
  }
  if (!file || file.bytes.length === 0)
    throw invalidFields([{ path: 'file', message: 'is missing or empty' }]);
  return { fields, file };
}

function textOf({ value }: Extract<Multipart, { type: 'field' }>): string {
  return typeof value === 'string' ? value : '';
}

type Preview =
  | { rows: readonly CheckedPayoutRequest[]; lines: readonly number[]; notes: Html }
  | { errors: readonly FieldError[]; isStopped: boolean }
  | { refusal: string };

/** Checks everything that the start checks. */
async function previewOf(desk: Desk, { caller }: Visit, { app, batchId, bytes }: Upload): Promise<Preview> {
  const payouts = new BatchFile(bytes);
  const { lines } = payouts;
  try {
    const checked = await desk.clients.batches.check({ app, batchId, payouts, lines });
    await requireRows(caller, checked);
    const { rows } = checked;
    const notes = html`${await dailyUse(desk, caller, rows)}${await batchWarnings(desk, rows, lines)}`;
    return { rows, lines, notes };
  } catch (error) {
    if (error instanceof InvalidPayoutRequestError) return { errors: error.fields, isStopped: error.stopped };
    if (error instanceof Problem || error instanceof BatchFileError) return { refusal: error.message };
    throw error;
  }
}

function previewContent(visit: Visit, upload: Upload, id: string, preview: Preview): Html {
  const { app, batchId, fileName } = upload;
  const about = html`<p>File ${isolated(fileName)}, application ${app}.</p>`;
  if ('refusal' in preview)
    return html`${about}<p class="warning" role="alert">Nothing was started: ${preview.refusal}.</p>${again()}`;
  if ('errors' in preview) return html`${about}${errorTable(preview)}${again()}`;
  const { rows, lines, notes } = preview;
  const totals = totalsByCurrency(rows.map(({ instructedAmount }) => instructedAmount)).map(money);
  return html`${about}<p class="amount">${rows.length} ${rows.length === 1 ? 'payout' : 'payouts'}, ${totals.join(', ')}</p>
<p>Every row is valid. Nothing has started yet.</p>${notes}
<form method="post" action="/desk/batches/start">${hidden({ formToken: visit.formToken, upload: id, app, batchId })}
<div class="buttons"><button>Start ${rows.length} ${rows.length === 1 ? 'payout' : 'payouts'}</button> <a href="/desk/batches">Discard</a></div></form>
${rowTable(rows.slice(0, SHOWN_ROWS), lines)}${
  rows.length > SHOWN_ROWS && html`<p class="faint">The first ${SHOWN_ROWS} of ${rows.length} rows.</p>`
}`;
}

function rowTable(rows: readonly CheckedPayoutRequest[], lines: readonly number[]): Html {
  return table({
    caption: 'Rows',
    head: ['Line', 'Payout', 'Amount', 'Beneficiary', 'Account', 'Bank', 'Approval'],
    rows: rows.map(({ partnerOrderId, instructedAmount, receiver, approval }, at) => [
      ...[lines[at], partnerOrderId, money(instructedAmount)],
      ...[receiver.bankAccountName, maskedAccount(receiver), receiver.bankName],
      ...[approval === 'required' ? 'Required' : 'Not required'],
    ]),
  });
}

function errorTable({ errors, isStopped }: Extract<Preview, { errors: unknown }>): Html {
  return html`<p class="warning" role="alert">Nothing was started: the file has ${isStopped ? 'at least ' : ''}${errors.length} ${errors.length === 1 ? 'error' : 'errors'}.${isStopped && ' Later rows were not checked.'}</p>
${table({
  caption: 'Errors',
  head: ['Line', 'Field', 'Error'],
  rows: errors.map(({ path, message, line }) => {
    const field = line === undefined ? path : path.replace(/^\d+\.?/, '');
    return [line ?? '–', field === '' ? 'the whole row' : field, message];
  }),
})}`;
}

function again(): Html {
  return html`<p><a href="/desk/batches">Upload another file</a></p>`;
}

const MAX_UPLOADS = 20;
/** So that one person cannot push out the files of all others. */
const MAX_UPLOADS_PER_PERSON = 3;
const KEPT_MS = 30 * 60_000;

export interface Upload {
  /** Who uploaded it, and in which session: the `formToken`. */
  owner: string;
  person: string;
  app: string;
  batchId: string;
  fileName: string;
  bytes: Buffer;
}

export class Uploads {
  readonly #runtime: Runtime;
  /** The oldest first. */
  readonly #uploads = new Map<string, Upload & { atMs: number }>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Returns its id. The oldest uploads are discarded if there are too many. */
  keep(upload: Upload): string {
    const atMs = this.#runtime.clock.wallMs();
    for (const [id, one] of this.#uploads) if (atMs - one.atMs >= KEPT_MS) this.#uploads.delete(id);
    const own = [...this.#uploads].filter(([, { person }]) => person === upload.person);
    const [oldest] =
      own.length >= MAX_UPLOADS_PER_PERSON
        ? own
        : [...this.#uploads].slice(0, this.#uploads.size - MAX_UPLOADS + 1);
    if (oldest) this.#uploads.delete(oldest[0]);
    const id = this.#runtime.random.uuid();
    this.#uploads.set(id, { ...upload, atMs });
    return id;
  }

  /** Throws a 404 if it was discarded, or is of another session. */
  get(id: string, owner: string): Upload {
    const upload = this.#uploads.get(id);
    const isKept = upload !== undefined && this.#runtime.clock.wallMs() - upload.atMs < KEPT_MS;
    if (!isKept || upload.owner !== owner)
      throw new Problem('not-found', 'the uploaded file is no longer kept: upload it again');
    return upload;
  }

  discard(id: string): void {
    this.#uploads.delete(id);
  }
}
