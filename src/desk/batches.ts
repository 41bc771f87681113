/** `/desk/batches` and `/desk/batch`: the list of batches, the progress of one, and uploads with their preview. */
import { createHash } from 'node:crypto';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BatchFile } from '../batch-file/batch-file.ts';
import { BatchFileError } from '../batch-file/rows.ts';
import { InvalidPayoutRequestError } from '../client/errors.ts';
import { MAX_LISTED, payoutsOfBatches } from '../client/lists.ts';
import type { Caller } from '../config/callers.ts';
import type { BatchState } from '../contract/batch.ts';
import { OUTCOMES } from '../contract/codes.ts';
import type { ListedBatch, ListedPayout } from '../contract/lists.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import { mayList } from '../domain/permissions.ts';
import { goneSignal } from '../http/connections.ts';
import { isRowWithinScope, may, requireApplication, requireVerb } from '../service/permissions.ts';
import { invalidFields, Problem } from '../service/problem.ts';
import { batchRef } from '../service/requests.ts';
import { batchNotes } from './batch-notes.ts';
import {
  type Desk,
  filledIn,
  formHooks,
  getPage,
  idIn,
  pageVisit,
  postForm,
  redirectWith,
} from './context.ts';
import {
  empty,
  facts,
  type Html,
  hidden,
  html,
  isolated,
  label,
  link,
  maskedAccount,
  money,
  pill,
  table,
  time,
  totals,
} from './html.ts';
import { AUTOMATIC, type Visit } from './identity.ts';
import { sendPage } from './layout.ts';
import { payoutTable } from './payouts.ts';
import { resultsLink } from './statement.ts';

const REFRESH_SECONDS = 3;
const SHOWN_ROWS = 50;
/** As for a batch in JSON. */
const MAX_UPLOAD_BYTES = 4 * 1024 * 1024;
const LIMITS = { files: 1, fields: 5, fieldSize: 256, fileSize: MAX_UPLOAD_BYTES, headerPairs: 20 };

/** In base64url, which a form does not escape, and with its other fields. */
const MAX_START_BYTES = Math.ceil((MAX_UPLOAD_BYTES * 4) / 3) + 16 * 1024;

export function batchRoutes(scope: FastifyInstance, desk: Desk): void {
  uploadRoutes(scope, desk);

  getPage(scope, desk, '/batches', async (visit, query) => {
    const { cursor } = filledIn(query, 'cursor');
    return {
      title: 'Batches',
      section: 'Batches',
      content: html`${may(visit.caller, 'batch') && uploadForm(visit)}${await listOf(desk, visit, cursor)}`,
    };
  });

  getPage(scope, desk, '/batch', async (visit, query, reply) => {
    const id = idIn(batchRef, query);
    const state = await desk.service.batch(visit.caller, id);
    const isLive = state.phase !== 'DONE' && filledIn(query, 'live').live !== 'off';
    // Without scripts, the browser loads the page again.
    if (isLive)
      reply.header('refresh', `${REFRESH_SECONDS};url=${link('/desk/batch', { ...id, ...AUTOMATIC })}`);
    return {
      title: `Batch ${id.batchId}`,
      section: 'Batches',
      actions: resultsLink(id),
      content: html`${progress(state)}${state.phase !== 'DONE' && liveLink(state, isLive)}${counts(state)}${await rowList(desk, visit, state)}${cancelForm(visit, state)}`,
    };
  });

  getPage(scope, desk, '/batches/template.csv', async (_visit, _query, reply) =>
    reply
      .header('content-disposition', 'attachment; filename="template.csv"')
      .type('text/csv; charset=utf-8')
      .send(TEMPLATE),
  );

  postForm(scope, desk, { path: '/batches/cancel', verb: 'cancel' }, async (visit, fields, reply) => {
    const id = idIn(batchRef, fields);
    await desk.service.cancelBatch(visit.caller, id);
    return redirectWith(reply, link('/desk/batch', id), { done: 'cancel', id: id.batchId });
  });
}

/** The fields that every payout has, and a row that shows their form. */
const EXAMPLE = {
  partnerOrderId: 'invoice-1001',
  clientId: 'client-1',
  payerId: 'payer-1',
  type: 'WITHDRAW',
  'instructedAmount.currency': 'CNY',
  'instructedAmount.amount': '1250.00',
  originCurrency: 'USD',
  targetCurrency: 'CNY',
  remittancePurposeCode: 'GOODS_TRADE',
  platform: 'shop',
  'receiver.bankCountry': 'CN',
  'receiver.bankName': 'Bank of Example',
  'receiver.bankAccountCurrency': 'CNY',
  'receiver.bankAccountNumber': '6222020000000001',
  'receiver.bankAccountName': 'Example Seller',
  'receiver.idCardNumber': '110101199003070001',
  'receiver.cardHoldType': 'Personal',
};
const TEMPLATE = [Object.keys(EXAMPLE), Object.values(EXAMPLE)]
  .map((cells) => `${cells.join(',')}\r\n`)
  .join('');

/** The first of the payouts that the batch has started. Without search keys, they are among the first since its start. */
async function rowList(
  { service, config }: Desk,
  { caller }: Visit,
  { app, batchId }: BatchState,
): Promise<Html | undefined> {
  if (!mayList(caller)) return undefined;
  const { startTime } = await service.withTemporalDeadline(() =>
    service.batches.handle({ app, batchId }).describe(),
  );
  const searched = config.keys.search && { batch: batchId };
  const filter = { app, createdFrom: startTime.toISOString(), ...searched, limit: 100 };
  const { payouts, nextCursor } = await service.listPayouts(caller, filter);
  const rows = payouts.filter(({ batch }) => batch === batchId);
  if (rows.length === 0) return undefined;
  const sums = totals(rows.flatMap(({ instructedAmount }) => instructedAmount ?? []));
  return payoutTable(rows, html`${sums}${nextCursor !== undefined && ', the first rows'}`);
}

async function listOf(desk: Desk, { caller }: Visit, cursor: string | undefined): Promise<Html> {
  if (!mayList(caller))
    return html`<p class="warning">Your key is limited to clients, payers or users: open batches by their addresses.</p>`;
  const { batches, nextCursor } = await desk.service.listBatches(caller, { cursor });
  if (batches.length === 0)
    return empty(
      cursor === undefined ? 'No batches yet' : 'No batches on this page',
      cursor === undefined && 'Upload a file to start one.',
    );
  const { payouts, isCut } = await startedBy(desk, caller, batches);
  const rows = batches.map(({ app, batchId, startedAt, endedAt, workflow }) => {
    const own = payouts.filter((one) => one.batch === batchId && one.app === app);
    return [
      html`<a href="${link('/desk/batch', { app, batchId })}">${batchId}</a>${app !== 'default' && html`<small>${app}</small>`}`,
      own.length,
      own.length > 0 && totals(own.flatMap(({ instructedAmount }) => instructedAmount ?? [])),
      own.length > 0 && paidOf(own),
      pill(workflow),
      time(startedAt),
      endedAt === undefined ? '' : time(endedAt),
    ];
  });
  return html`${table({
    caption: html`Open ones first, newest first. Payouts and amounts are those that each batch has started${isCut && html`, of the first ${MAX_LISTED}: open a batch for all of them`}`,
    sorts: cursor === undefined && nextCursor === undefined ? true : 'part',
    head: ['Batch', 'Payouts#', 'Amount#', 'Progress', 'Status', 'Started', 'Finished'],
    rows,
  })}${nextCursor !== undefined && html`<p><a class="button plain" href="${link('/desk/batches', { cursor: nextCursor })}">Next page</a></p>`}`;
}

/** One call to Temporal for all of the page: the memo of a batch has no sums, those of its payouts do. */
async function startedBy(
  { client, config, service }: Desk,
  caller: Caller,
  batches: readonly ListedBatch[],
): Promise<{ payouts: ListedPayout[]; isCut: boolean }> {
  const { payouts, isCut } = await service.withTemporalDeadline(() =>
    payoutsOfBatches(client, config.keys.search, batches),
  );
  return { payouts: payouts.filter((one) => isRowWithinScope(caller, one)), isCut };
}

/** How many have each outcome, or are open. */
function paidOf(payouts: readonly ListedPayout[]): Html {
  const done = payouts.filter(({ outcome }) => outcome !== '').length;
  const counts = [
    ...OUTCOMES.map((one) => [label(one), payouts.filter(({ outcome }) => outcome === one).length] as const),
    ['Open', payouts.length - done] as const,
  ].filter(([, count]) => count > 0);
  const text = counts.map(([name, count]) => `${count} ${name.toLowerCase()}`).join(', ');
  return html`<progress aria-label="Payouts that have finished" value="${done}" max="${payouts.length}"></progress><small>${text}</small>`;
}

function progress({ sentence, nextStep, done, count }: BatchState): Html {
  return html`<p class="headline" role="status">${sentence}</p><p class="faint">Next step: ${nextStep}</p>
<p><progress aria-label="Rows that have finished" value="${done}" max="${count}">${done} of ${count}</progress></p>`;
}

function liveLink({ app, batchId }: BatchState, isLive: boolean): Html {
  return isLive
    ? html`<p>Refreshing every ${REFRESH_SECONDS} seconds. <a href="${link('/desk/batch', { app, batchId, live: 'off' })}">Pause</a></p>`
    : html`<p><a href="${link('/desk/batch', { app, batchId })}">Follow the progress</a></p>`;
}

function counts(state: BatchState): Html {
  const { outcomes, phases, rows } = state;
  const counted = [
    ...Object.entries(phases).map(([phase, count]) => [`Open: ${label(phase)}`, count] as const),
    ...Object.entries(outcomes).map(([outcome, count]) => [`Finished: ${label(outcome)}`, count] as const),
  ].filter(([, count]) => count !== undefined && count > 0);
  const listed = Object.entries(rows).filter(([, at]) => at.length > 0);
  return html`${facts([
    ['Application', state.app],
    ['Rows', state.count],
    ['Added', state.added],
    ['Started', state.started],
    ['Joined an existing payout', state.joined],
    ['Need attention', state.needingAttention],
  ])}${counted.length > 0 && table({ caption: 'Rows by state', head: ['State', 'Rows#'], rows: counted })}${
    listed.length > 0 &&
    facts(listed.map(([outcome, at]) => [`Rows, counted from 0: ${label(outcome)}`, at.join(', ')]))
  }`;
}

function cancelForm(
  { caller, formToken }: Visit,
  { app, batchId, phase, canceled }: BatchState,
): Html | undefined {
  if (phase === 'DONE' || canceled || !may(caller, 'cancel')) return undefined;
  return html`<h2>Cancel</h2><p>Stops rows that haven't started. Payouts in progress continue, except those whose quote the provider refuses: they are canceled.</p>
<form method="post" action="/desk/batches/cancel">${hidden({ formToken, app, batchId })}<button class="danger">Cancel the batch</button></form>`;
}

type Upload = ReturnType<typeof uploadIn>;

function uploadRoutes(scope: FastifyInstance, desk: Desk): void {
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
        if (upload.file === '') throw invalidFields([{ path: 'file', message: 'is missing or empty' }]);
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

function uploadForm({ formToken }: Visit): Html {
  return html`<section class="card"><h2 id="upload">Upload a batch</h2>
<form method="post" action="/desk/batches/preview" enctype="multipart/form-data" aria-labelledby="upload">${hidden({ formToken })}
<div class="fields"><div><label for="batchId">Batch id</label><input id="batchId" name="batchId" maxlength="64" required></div>
<div><label for="app">Application</label><input id="app" name="app" maxlength="32" value="default"></div>
<div class="whole"><label for="file">File: drop it here, or choose it</label><input id="file" name="file" type="file" accept=".csv,.txt,.ndjson,.jsonl,.json,text/csv,application/x-ndjson" required></div>
<div class="whole"><button>Preview</button></div></div>
<p><a href="/desk/batches/template.csv">Download a template</a> <span class="faint">with the columns and an example. CSV, NDJSON or a JSON array, up to 4 MiB. You see a preview before anything starts.</span></p>
<details><summary>About the columns</summary><p class="faint">The columns of a CSV file are the fields of a payout request by path, such as <code>partnerOrderId</code>, <code>instructedAmount.amount</code> and <code>receiver.bankName</code>; use <code>metadata.KEY</code> columns for metadata. Save a spreadsheet as “CSV UTF-8”, with the numbers of accounts and identity cards as text.</p></details></form></section>`;
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
  const payouts = new BatchFile(Buffer.from(file, 'base64url'));
  const { lines } = payouts;
  try {
    const { rows } = await desk.service.previewBatch(visit.caller, { app, batchId, payouts, lines }, gone);
    const count = rows.length === 1 ? '1 payout' : `${rows.length} payouts`;
    return html`<p class="headline">${count}, ${totals(rows.map(({ instructedAmount }) => instructedAmount))}</p><p>Every row is valid. Nothing has started yet.</p>${about}
${await batchNotes(desk, visit.caller, rows, lines)}
<form method="post" action="/desk/batches/start">${hidden({ formToken: visit.formToken, ...upload })}
<div class="buttons"><button>Start ${count}</button> <a href="/desk/batches">Discard</a></div></form>
${rowTable(rows.slice(0, SHOWN_ROWS), lines)}${
  rows.length > SHOWN_ROWS && html`<p class="faint">The first ${SHOWN_ROWS} of ${rows.length} rows.</p>`
}`;
  } catch (error) {
    const again = html`<p><a href="/desk/batches">Upload another file</a></p>`;
    if (error instanceof InvalidPayoutRequestError) return html`${about}${errorTable(error)}${again}`;
    if (!(error instanceof Problem || error instanceof BatchFileError)) throw error;
    return html`${about}<p class="warning" role="alert">Nothing was started: ${error.message}.</p>${again}`;
  }
}

function rowTable(rows: readonly CheckedPayoutRequest[], lines: readonly number[]): Html {
  return table({
    caption: 'Rows',
    head: ['Line', 'Payout', 'Amount#', 'Beneficiary', 'Account', 'Bank', 'Approval'],
    rows: rows.map(({ partnerOrderId, instructedAmount, receiver, approval }, at) => [
      lines[at],
      partnerOrderId,
      money(instructedAmount),
      receiver.bankAccountName,
      maskedAccount(receiver),
      receiver.bankName,
      approval === 'required' ? 'Required' : 'Not required',
    ]),
  });
}

function errorTable({ fields, stopped }: InvalidPayoutRequestError): Html {
  const count = `${stopped ? 'at least ' : ''}${fields.length} ${fields.length === 1 ? 'error' : 'errors'}`;
  return html`<p class="warning" role="alert">Nothing was started: the file has ${count}.${stopped && ' Later rows were not checked.'}</p>
${table({
  caption: 'Errors',
  head: ['Line', 'Field', 'Error'],
  rows: fields.map(({ path, message, line }) => {
    const field = line === undefined ? path : path.replace(/^\d+\.?/, '');
    return [line ?? '–', field === '' ? 'the whole row' : field, message];
  }),
})}`;
}
