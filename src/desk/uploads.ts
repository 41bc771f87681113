/** Uploads of batches on the desk: the form, the template, the preview, and the start of what was previewed. */
import { createHash } from 'node:crypto';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BatchFile } from '../batch-file/batch-file.ts';
import { BatchFileError } from '../batch-file/rows.ts';
import { InvalidPayoutRequestError } from '../client/errors.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { goneSignal } from '../http/connections.ts';
import { requireApplication, requireVerb } from '../service/permissions.ts';
import { Problem } from '../service/problem.ts';
import { batchRef } from '../service/requests.ts';
import { batchNotes, existingIds } from './batch-notes.ts';
import { appsOf, type Desk, filledIn, formHooks, getPage, idIn, pageVisit, postForm } from './context.ts';
import { errorTable } from './file-errors.ts';
import { EXAMPLE } from './file-header.ts';
import {
  type Html,
  hidden,
  html,
  isolated,
  link,
  maskedAccount,
  money,
  sentence,
  table,
  totals,
} from './html.ts';
import type { Visit } from './identity.ts';
import { sendPage } from './layout.ts';

const SHOWN_ROWS = 50;
/** As for a batch in JSON. */
const MAX_UPLOAD_BYTES = 4 * 1024 * 1024;
const LIMITS = { files: 1, fields: 5, fieldSize: 256, fileSize: MAX_UPLOAD_BYTES, headerPairs: 20 };

/** In base64url, which a form does not escape, and with its other fields. */
const MAX_START_BYTES = Math.ceil((MAX_UPLOAD_BYTES * 4) / 3) + 16 * 1024;

const TEMPLATE = [Object.keys(EXAMPLE), Object.values(EXAMPLE)]
  .map((cells) => `${cells.join(',')}\r\n`)
  .join('');

type Upload = ReturnType<typeof uploadIn>;

export function uploadRoutes(scope: FastifyInstance, desk: Desk): void {
  getPage(scope, desk, '/batches/template.csv', async (_visit, _query, reply) =>
    reply
      .header('content-disposition', 'attachment; filename="template.csv"')
      .type('text/csv; charset=utf-8')
      .send(TEMPLATE),
  );

  scope.register(async (uploading) => {
    await uploading.register(multipart, { limits: LIMITS });
    const hooks = formHooks(uploading, desk, '/batches/preview', 'batch');
    uploading.post('/batches/preview', {
      bodyLimit: MAX_START_BYTES,
      ...hooks,
      preHandler: [readUpload, hooks.preHandler],
      handler: async (request, reply) => {
        const visit = await pageVisit(desk, request);
        requireVerb(visit.caller, 'read');
        const upload = uploadIn(request.body);
        requireApplication(visit.caller, upload.app);
        return sendPage(reply, {
          title: `Preview of batch ${upload.batchId}`,
          visit,
          section: 'Batches',
          content: await preview(desk, visit, { ...upload, seal: sealOf(scope, upload) }, goneSignal(reply)),
        });
      },
    });
  });

  postForm(
    scope,
    desk,
    { path: '/batches/start', verb: 'batch', bodyLimit: MAX_START_BYTES },
    async ({ caller }, fields, reply) => {
      const id = idIn(batchRef, fields);
      const upload = uploadIn(fields);
      const { seal = '' } = fields;
      if (scope.decodeSecureSession(seal)?.get('previewed') !== digestOf(upload))
        throw new Problem(
          'form-not-accepted',
          'the file is not the one that was previewed: preview it again',
        );
      const payouts = new BatchFile(Buffer.from(upload.file, 'base64url'));
      await desk.service.startBatch(
        caller,
        () => ({ ...id, payouts, lines: payouts.lines }),
        goneSignal(reply),
      );
      return reply.redirect(link('/desk/batch', id), 303);
    },
  );
}

declare module '@fastify/secure-session' {
  interface SessionData {
    previewed: string;
  }
}

/** The digest of what a preview has shown, sealed under the keys of the sessions: no other file starts with it. */
function sealOf(scope: FastifyInstance, upload: Upload): string {
  return scope.encodeSecureSession(scope.createSecureSession({ previewed: digestOf(upload) }));
}

function digestOf({ app, batchId, file }: Upload): string {
  return createHash('sha256')
    .update(JSON.stringify([app, batchId, file]))
    .digest('base64url');
}

/** `file` is in base64url. */
function uploadIn(fields: unknown) {
  const names = ['app', 'batchId', 'fileName', 'file'] as const;
  const { app = 'default', batchId = '', fileName = '', file = '' } = filledIn(fields, ...names);
  return { app, batchId, fileName, file };
}

/** `given`: the batch id and the application of an upload that could not start. */
export function uploadForm(
  visit: Visit,
  nowMs: number,
  given: Partial<Pick<Upload, 'app' | 'batchId'>> = {},
): Html {
  const apps = appsOf(visit);
  const { app = apps[0] ?? 'default', batchId = newBatchId(visit, nowMs) } = given;
  const isOnly = apps.length === 1 && app === apps[0];
  return html`<section class="card"><h2 id="upload">Upload a batch</h2>
<form method="post" action="/desk/batches/preview" enctype="multipart/form-data" aria-labelledby="upload">${hidden({ formToken: visit.formToken, ...(isOnly && { app }) })}
<div class="fields"><div><label for="batchId">Batch ID</label><input id="batchId" name="batchId" maxlength="64" value="${batchId}" required></div>
${!isOnly && html`<div><label for="app">Application</label><input id="app" name="app" maxlength="32" value="${app}"></div>`}
<div class="whole"><label for="file">File: drop it here, or choose it</label><input id="file" name="file" type="file" accept=".csv,.txt,.ndjson,.jsonl,.json,text/csv,application/x-ndjson" required></div>
<div class="whole"><button>Preview</button></div></div>
<p><a href="/desk/batches/template.csv">Download a template</a> <span class="faint">with the columns and an example. CSV, NDJSON or a JSON array, up to 4 MiB. You see a preview before anything starts.</span></p>
<details><summary>About the columns</summary><p class="faint">The columns of a CSV file are the fields of a payout request by path, such as <code>partnerOrderId</code>, <code>instructedAmount.amount</code> and <code>receiver.bankName</code>; use <code>metadata.KEY</code> columns for metadata. <code>approval</code> is <code>required</code> or <code>none</code>. Save a spreadsheet as “CSV UTF-8”, with the numbers of accounts and identity cards as text.</p></details></form></section>`;
}

/** `batch-2026-11-28-093715`, in UTC, after the prefix of the caller's ids. */
function newBatchId({ caller }: Visit, nowMs: number): string {
  const [day = '', time = ''] = new Date(nowMs).toISOString().split(/[T.]/);
  return `${caller.idPrefix ?? ''}batch-${day}-${time.replaceAll(':', '')}`;
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

async function preview(
  desk: Desk,
  visit: Visit,
  upload: Upload & { seal: string },
  gone: AbortSignal,
): Promise<Html> {
  const { app, batchId, fileName, file } = upload;
  const about = html`<p class="faint">File ${isolated(fileName)}, application ${app}.</p>`;
  const again = (id: string | undefined) =>
    uploadForm(visit, desk.runtime.clock.wallMs(), { app, ...(id !== undefined && { batchId: id }) });
  if (file === '')
    return html`<p class="warning" role="alert">Nothing was started: the file is missing or empty. Choose a file with payouts.</p>${again(batchId)}`;
  const bytes = Buffer.from(file, 'base64url');
  const payouts = new BatchFile(bytes);
  const { lines } = payouts;
  try {
    const batch = { app, batchId, payouts, lines };
    const { rows, existing } = await desk.service.previewBatch(visit.caller, batch, gone);
    const count = rows.length === 1 ? '1 payout' : `${rows.length} payouts`;
    const sums = html`<p class="headline">${count}, ${totals(rows.map(({ instructedAmount }) => instructedAmount))}</p>`;
    if (existing === 'other')
      return html`${sums}<p class="bad warning" role="alert">Batch ${batchId} exists already. Choose another ID.</p>${about}${again(undefined)}`;
    const table = html`${rowTable(rows.slice(0, SHOWN_ROWS), lines)}${
      rows.length > SHOWN_ROWS && html`<p class="faint">The first ${SHOWN_ROWS} of ${rows.length} rows.</p>`
    }`;
    if (existing === 'same')
      return html`${sums}<p class="warning">This batch has been started already, with the same rows. There is nothing to start.</p>${about}
<p><a class="button" href="${link('/desk/batch', { app, batchId })}">See its progress</a></p>${table}`;
    const found = await existingIds(desk, visit.caller, rows);
    return html`${sums}<p>Every row is valid. Nothing has started yet.</p>${about}${existing === 'unknown' && UNKNOWN}
${await batchNotes(desk, visit.caller, rows, { lines, existing: found })}
${startForm(visit, upload, rows.length, found?.rows.length ?? 0)}
${table}`;
  } catch (error) {
    if (error instanceof InvalidPayoutRequestError)
      return html`${about}${await errorTable(bytes, error)}${again(batchId)}`;
    if (!(error instanceof Problem || error instanceof BatchFileError)) throw error;
    return html`${about}<p class="warning" role="alert">Nothing was started: ${sentence(error.message)}.</p>${again(batchId)}`;
  }
}

const UNKNOWN = html`<p class="warning">Whether the batch exists already cannot be read now, because Temporal or a worker does not respond.</p>`;

/** `Start 3 payouts`, or `Start 1 new payout, 8 exist`. Without a button if no payout is new. */
function startForm(
  { formToken }: Visit,
  upload: Upload & { seal: string },
  count: number,
  exist: number,
): Html {
  const fresh = count - exist;
  if (fresh === 0)
    return html`<p><strong>There is nothing to start: ${count === 1 ? 'the ID exists' : `all ${count} IDs exist`} already.</strong> <a href="/desk/batches">Upload another file</a></p>`;
  const payouts = fresh === 1 ? 'payout' : 'payouts';
  const text =
    exist === 0
      ? `Start ${count} ${payouts}`
      : `Start ${fresh} new ${payouts}, ${exist} ${exist === 1 ? 'exists' : 'exist'}`;
  return html`<form method="post" action="/desk/batches/start">${hidden({ formToken, ...upload })}
<div class="buttons"><button>${text}</button> <a href="/desk/batches">Discard</a></div></form>`;
}

function rowTable(rows: readonly CheckedPayoutRequest[], lines: readonly number[]): Html {
  return table({
    caption: 'Rows',
    head: ['Line', 'Payout', 'Amount#', 'Beneficiary', 'Account', 'Bank', 'Approval requested'],
    rows: rows.map(({ partnerOrderId, instructedAmount, receiver, approval }, at) => [
      lines[at],
      partnerOrderId,
      money(instructedAmount),
      receiver.bankAccountName,
      maskedAccount(receiver),
      receiver.bankName,
      approval === 'required' ? 'Yes' : 'No',
    ]),
  });
}
