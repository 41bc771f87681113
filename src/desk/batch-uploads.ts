/** `/desk/batches/preview`: what a file would start, or why it starts nothing; and the start. */
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { InvalidPayoutRequestError } from '../client/invalid-request.ts';
import type { FieldError } from '../contract/failures.ts';
import { totalsByCurrency } from '../contract/money.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { requireApplication, requireRows } from '../service/permissions.ts';
import { invalidFields, Problem } from '../service/problem.ts';
import { BatchFile } from '../starters/batch-file/batch-file.ts';
import { BatchFileError } from '../starters/batch-file/rows.ts';
import { batchWarnings, dailyUse } from './batch-notes.ts';
import { type Desk, filledIn, formHooks, pageVisit, postForm } from './context.ts';
import { type Html, hidden, html, isolated, link, maskedAccount, money, table } from './html.ts';
import type { Visit } from './identity.ts';
import { sendPage } from './layout.ts';

const SHOWN_ROWS = 50;
/** As for a batch in JSON. */
const MAX_UPLOAD_BYTES = 4 * 1024 * 1024;
const LIMITS = { files: 1, fields: 5, fieldSize: 256, fileSize: MAX_UPLOAD_BYTES, headerPairs: 20 };

/** In base64url, which a form does not escape, and with its other fields. */
const MAX_START_BYTES = Math.ceil((MAX_UPLOAD_BYTES * 4) / 3) + 16 * 1024;

interface Upload {
  app: string;
  batchId: string;
  fileName: string;
  /** In base64url. */
  file: string;
}

export function uploadRoutes(scope: FastifyInstance, desk: Desk): void {
  scope.register(async (uploading) => {
    await uploading.register(multipart, { limits: LIMITS });
    const hooks = formHooks(uploading, desk, '/batches/preview', 'batch');
    uploading.post('/batches/preview', {
      ...hooks,
      preHandler: [readUpload, ...hooks.preHandler],
      handler: async (request, reply) => {
        const visit = await pageVisit(desk, request);
        const upload = uploadIn(request.body);
        if (upload.file === '') throw invalidFields([{ path: 'file', message: 'is missing or empty' }]);
        requireApplication(visit.caller, upload.app);
        return sendPage(reply, {
          title: `Preview of batch ${upload.batchId}`,
          visit,
          section: 'Batches',
          content: previewContent(visit, upload, await previewOf(desk, visit, upload)),
        });
      },
    });
  });

  postForm(
    scope,
    desk,
    { path: '/batches/start', verb: 'batch', bodyLimit: MAX_START_BYTES },
    async ({ caller }, _request, reply, fields) => {
      const { app, batchId, file } = uploadIn(fields);
      await desk.acting.run(caller, 'POST /v1/payout-batches', {
        query: { app, batchId },
        body: new BatchFile(Buffer.from(file, 'base64url')),
      });
      return reply.redirect(link('/desk/batch', { app, batchId }), 303);
    },
  );
}

function uploadIn(fields: unknown): Upload {
  const names = ['app', 'batchId', 'fileName', 'file'] as const;
  const { app = 'default', batchId = '', fileName = '', file = '' } = filledIn(fields, ...names);
  return { app, batchId, fileName, file };
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

/** Makes a body like that of the other forms of the upload: the page of the preview carries the file to the start. */
async function readUpload(request: FastifyRequest): Promise<void> {
  if (!request.isMultipart()) throw new Problem('unsupported-media-type', 'this form uploads a file');
  const fields: Record<string, string> = {};
  try {
    for await (const part of request.parts()) {
      if (part.type === 'file') {
        fields['fileName'] = part.filename;
        fields['file'] = (await part.toBuffer()).toString('base64url');
      } else if (typeof part.value === 'string') fields[part.fieldname] = part.value;
    }
  } catch (error) {
    // Errors of the limits have a status; those of the parser have none.
    if (error instanceof Error && !('statusCode' in error))
      throw new Problem('malformed-request', 'the upload is incomplete, or is not multipart/form-data');
    throw error;
  }
  request.body = fields;
}

type Preview =
  | { rows: readonly CheckedPayoutRequest[]; lines: readonly number[]; notes: Html }
  | { errors: readonly FieldError[]; isStopped: boolean }
  | { refusal: string };

/** Checks everything that the start checks. */
async function previewOf(desk: Desk, { caller }: Visit, { app, batchId, file }: Upload): Promise<Preview> {
  const payouts = new BatchFile(Buffer.from(file, 'base64url'));
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

function previewContent(visit: Visit, upload: Upload, preview: Preview): Html {
  const { app, fileName } = upload;
  const about = html`<p>File ${isolated(fileName)}, application ${app}.</p>`;
  if ('refusal' in preview)
    return html`${about}<p class="warning" role="alert">Nothing was started: ${preview.refusal}.</p>${again()}`;
  if ('errors' in preview) return html`${about}${errorTable(preview)}${again()}`;
  const { rows, lines, notes } = preview;
  const totals = totalsByCurrency(rows.map(({ instructedAmount }) => instructedAmount)).map(money);
  return html`${about}<p class="amount">${rows.length} ${rows.length === 1 ? 'payout' : 'payouts'}, ${totals.join(', ')}</p>
<p>Every row is valid. Nothing has started yet.</p>${notes}
<form method="post" action="/desk/batches/start">${hidden({ formToken: visit.formToken, ...upload })}
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
