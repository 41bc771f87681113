/**
 * Everything that a caller can do, over HTTP and on the desk: every method requires the permission, the
 * application, the scope and the limits of the caller, and has a deadline. Requests are validated before. Throws `Problem`,
 * and errors that `problemOf` knows.
 */
import type { Client } from '@temporalio/client';
import type { z } from 'zod';
import { Allowances } from '../client/allowances.ts';
import { Authorizations } from '../client/authorizations.ts';
import { Batches } from '../client/batches.ts';
import type { CheckedBatch, NewBatch } from '../client/checked-batch.ts';
import { ConflictError } from '../client/errors.ts';
import { Events } from '../client/events.ts';
import { fundsOf, type PayerFunds } from '../client/funds.ts';
import { Pauses } from '../client/leases.ts';
import { payoutsOfBatches } from '../client/lists.ts';
import { Payouts } from '../client/payouts.ts';
import { ProviderReads } from '../client/reads.ts';
import { ReceivingAccounts } from '../client/receiving-accounts.ts';
import { ReadSlots } from '../client/shared-reads.ts';
import type { ApiConfig } from '../config/api-config.ts';
import type { Caller } from '../config/callers.ts';
import type { BatchState } from '../contract/batch.ts';
import type { BatchFilter, ListedBatch, ListedPayout, PageRequest, PayoutFilter } from '../contract/lists.ts';
import type { PayoutState } from '../contract/payout.ts';
import type { CheckedPayoutRequest } from '../contract/payout-request.ts';
import type { CheckedReceivingAccountRequest } from '../contract/receiving-account.ts';
import { hasDailyLimits } from '../domain/daily-limits.ts';
import { shownStart } from '../domain/listed-payout.ts';
import { isScoped, mayCancelAny, starterName } from '../domain/permissions.ts';
import { PROCESS_RUNTIME } from '../runtime/process.ts';
import type { Clock } from '../runtime/runtime.ts';
import { BatchRows, type RowsOfBatch } from './batch-rows.ts';
import { CallerTurns } from './caller-turns.ts';
import {
  isPayoutWithinScope,
  isWithinScope,
  listedWithin,
  orAbsent,
  requireAuthority,
  requireOpeningScope,
  requireOwnBatch,
  requirePayout,
  requirePayoutScope,
  requirePermission,
  requireRows,
  requireScope,
  startWithin,
  visibleRows,
} from './permissions.ts';
import { Problem, rejectedStart } from './problem.ts';
import {
  type BatchId,
  type DecisionVerb,
  decisionBodies,
  type EndpointId,
  type Included,
  type OpeningId,
  type openingResolution,
  type PayoutId,
  valid,
} from './requests.ts';
import { Shares } from './shares.ts';
import { Statements } from './statements.ts';
import { type Page, visiblePage } from './visible-page.ts';
import { type Waiting, Waits } from './waits.ts';

const TEMPORAL_TIMEOUT_MS = 10_000;
/** A worker calls the provider first, within the rate limit. */
const PROVIDER_TIMEOUT_MS = 30_000;

/** Workers serve at most ten status queries of this process at a time, and one workflow at most one per second. */
const STATUS_READS = { inFlight: 10, waiting: 500, waitMs: 5_000 };
const MAX_STATUS_READS = STATUS_READS.inFlight + STATUS_READS.waiting;
const FRESH_MS = 1_000;
const TOO_MANY_READS = 'too many reads of the provider wait for their turn';
const MAX_WAITING_READS = 50;
/** So few at once leave most turns of the rate limit to payouts, however many callers read. */
const PROVIDER_READS = { inFlight: 3, waitMs: 5_000, refusal: TOO_MANY_READS };
/** The rows of a large batch take about 150 MiB. */
const BATCHES = { inFlight: 2, waitMs: 60_000, refusal: 'too many batches wait for their turn' };

type ServiceSettings = Pick<
  ApiConfig,
  'PAYMENTS_ENVIRONMENT' | 'PAYMENTS_TARGET_CURRENCIES' | 'keys' | 'authorizesUsers'
>;

interface ProviderRead {
  app: string;
  openId?: string | undefined;
}

type Decide = (payouts: Payouts, id: PayoutId, by: string, body: unknown) => Promise<PayoutState>;

const DECIDE: Readonly<Record<DecisionVerb, Decide>> = {
  approve: (payouts, id, by, body) => payouts.approve(id, { ...valid(decisionBodies.approve, body), by }),
  refuse: (payouts, id, by, body) => payouts.refuse(id, { ...valid(decisionBodies.refuse, body), by }),
  cancel: (payouts, id, by, body) => payouts.cancel(id, { ...valid(decisionBodies.cancel, body), by }),
  resolve: (payouts, id, by, body) => payouts.resolve(id, { ...valid(decisionBodies.resolve, body), by }),
  acknowledge: (payouts, id, by, body) =>
    payouts.acknowledge(id, { ...valid(decisionBodies.acknowledge, body), by }),
  poll: (payouts, id) => payouts.poll(id),
};

export class Service {
  readonly payouts: Payouts;
  readonly batches: Batches;
  readonly allowances: Allowances;
  readonly pauses: Pauses;
  readonly receivingAccounts: ReceivingAccounts;
  readonly events: Events;
  readonly statements: Statements;
  readonly waits = new Waits();
  private readonly rowsOfBatches: BatchRows;
  private readonly statusShares = new Shares(MAX_STATUS_READS, 'too many status reads wait for a worker');
  private readonly readShares = new Shares(MAX_WAITING_READS, TOO_MANY_READS);
  private readonly readTurns: CallerTurns;
  private readonly batchTurns: CallerTurns;
  /** Undefined if this server authorizes no users. */
  readonly authorizations: Authorizations | undefined;
  private readonly client: Client;
  private readonly clock: Clock;
  private readonly searchKeys: ServiceSettings['keys']['search'];

  /** For calls to Temporal and a worker. */
  readonly withTemporalDeadline = <T>(call: () => Promise<T>): Promise<T> =>
    this.client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, call);

  /** For calls that need the provider. */
  readonly withProviderDeadline = <T>(call: () => Promise<T>): Promise<T> =>
    this.client.withDeadline(Date.now() + PROVIDER_TIMEOUT_MS, call);

  constructor(
    client: Client,
    { keys, authorizesUsers, ...settings }: ServiceSettings,
    clock: Clock = PROCESS_RUNTIME.clock,
  ) {
    const { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_TARGET_CURRENCIES: targetCurrencies } = settings;
    const reads = { slots: new ReadSlots(STATUS_READS, clock), freshMs: FRESH_MS, clock };
    this.client = client;
    this.clock = clock;
    this.searchKeys = keys.search;
    this.readTurns = new CallerTurns(PROVIDER_READS, clock);
    this.batchTurns = new CallerTurns(BATCHES, clock);
    this.payouts = new Payouts({ client, environment, targetCurrencies, reads, searchKeys: keys.search });
    this.batches = new Batches({
      client,
      environment,
      targetCurrencies,
      reads,
      withDeadline: this.withTemporalDeadline,
    });
    this.rowsOfBatches = new BatchRows({
      ...{ client, clock, batches: this.batches, payouts: this.payouts },
      withDeadline: this.withTemporalDeadline,
    });
    this.statements = new Statements({
      ...{ client, clock, payouts: this.payouts, batches: this.batches, waits: this.waits },
      withDeadline: this.withTemporalDeadline,
    });
    this.allowances = new Allowances(client, environment, PROCESS_RUNTIME.clock);
    this.pauses = new Pauses({ client, environment });
    this.events = new Events({ client, environment, clock });
    this.receivingAccounts = new ReceivingAccounts({ client, environment, reads });
    if (authorizesUsers)
      this.authorizations = new Authorizations({ client, environment, keys: keys.authorizations });
  }

  async start(caller: Caller, request: CheckedPayoutRequest) {
    requirePermission(caller, 'start', request.app);
    requirePayout(caller, request);
    const startedBy = starterName(caller);
    return this.withTemporalDeadline(() =>
      this.withinDailyLimits(caller, [request], {
        find: () => this.payouts.find(request),
        start: () => this.payouts.start(request, { startedBy }),
      }),
    );
  }

  async payout(caller: Caller, id: PayoutId, waiting?: Waiting, include: readonly Included[] = []) {
    requirePermission(caller, 'read', id.app);
    // The state does not name the client.
    if (isScoped(caller)) await this.payoutStart(caller, id);
    await this.waits.until(caller, waiting, (options) => this.payouts.untilEnd(id, options));
    const snapshot = await this.readStatus(caller, () => this.payouts.look(id).catch(rejectedStart));
    return include.length === 0 ? snapshot : { ...snapshot, ...(await this.included(caller, id, include)) };
  }

  /** What a poll doesn't need: two calls to Temporal, and one more for the timeline. */
  private async included(caller: Caller, id: PayoutId, include: readonly Included[]) {
    const start = await this.payoutStart(caller, id);
    return {
      ...(include.includes('request') && shownStart(start)),
      ...(include.includes('timeline') && {
        timeline: await this.withTemporalDeadline(() => this.payouts.timeline(id, start)),
      }),
    };
  }

  /** No caller's reads take all places of the others' in the queue for workers. */
  readStatus<T>(caller: Caller, read: () => Promise<T>): Promise<T> {
    return this.statusShares.run(caller.name, () => this.withTemporalDeadline(read));
  }

  async payoutStart(caller: Caller, id: PayoutId) {
    requirePermission(caller, 'read', id.app);
    const start = await this.startOf(caller, id);
    orAbsent(() => requirePayoutScope(caller, start.request));
    return start;
  }

  private startOf(caller: Caller, id: PayoutId) {
    return startWithin(caller, () => this.withTemporalDeadline(() => this.payouts.startDetails(id)));
  }

  /** Without `app`, those of every application of the caller. */
  async listPayouts(caller: Caller, { limit, cursor, ...filter }: PayoutFilter & PageRequest) {
    const within = listedWithin(caller, filter.app);
    // The prefix of a caller may only become longer.
    const { idPrefix: own = '' } = within;
    const { idPrefix: asked = own } = filter;
    const longer = asked.startsWith(own) ? asked : own;
    if (!longer.startsWith(asked)) return { payouts: [] };
    const idPrefix = longer || undefined;
    const read = async (page: PageRequest) => {
      const { payouts: rows, ...rest } = await this.payouts.listPage(
        { ...filter, ...within, idPrefix },
        page,
      );
      return { rows, ...rest };
    };
    const isVisible = (row: ListedPayout) => isPayoutWithinScope(caller, row);
    const { rows: payouts, ...rest } = await this.pageOf(caller, { limit, cursor }, read, isVisible);
    return { payouts, ...rest };
  }

  /** `body`: by `decisionBodies`. A decision is recorded under the name of the caller. */
  async decide(caller: Caller, verb: DecisionVerb, id: PayoutId, body: unknown) {
    requirePermission(caller, verb, id.app);
    requireAuthority(caller, verb, await this.startOf(caller, id));
    return this.withProviderDeadline(async () => {
      await this.payouts.requireWorker(id);
      return DECIDE[verb](this.payouts, id, caller.name, body);
    });
  }

  /**
   * Starts a batch, or continues it. Every row is checked before any is started. Reads the batch when it's its turn. Rejects with
   * the reason of `gone` if that is aborted before.
   */
  async startBatch(caller: Caller, read: () => NewBatch, gone: AbortSignal) {
    const startedBy = starterName(caller);
    const start = async () => {
      const batch = read();
      requirePermission(caller, 'batch', batch.app ?? 'default');
      const checked = await this.checked(caller, batch);
      return this.withinDailyLimits(caller, checked.rows, {
        find: () => this.batches.findComplete(checked, startedBy),
        start: () => this.batches.startChecked(checked, startedBy),
      });
    };
    return this.batchTurns.run(caller.name, start, gone);
  }

  /**
   * Checks everything that `startBatch` checks, and starts nothing. `existing`: whether the batch exists with these rows, or
   * with others or of another caller. Undefined if it does not, or its rows are not complete.
   */
  async previewBatch(caller: Caller, batch: NewBatch, gone: AbortSignal) {
    const preview = async () => {
      const checked = await this.checked(caller, batch);
      const existing = await this.batches.findComplete(checked, starterName(caller)).then(
        (state) => state && ('same' as const),
        (error: unknown) => (error instanceof ConflictError ? ('other' as const) : ('unknown' as const)),
      );
      return { ...checked, existing };
    };
    return this.batchTurns.run(caller.name, preview, gone);
  }

  /** The balances of the payers are missing if they cannot be read now, or without the permission `quote`. */
  async batchFunds(caller: Caller, rows: readonly CheckedPayoutRequest[]): Promise<PayerFunds[]> {
    return fundsOf(rows, (row) => this.quote(caller, row), this.clock);
  }

  private async checked(caller: Caller, batch: NewBatch): Promise<CheckedBatch> {
    requireScope(caller, { batchId: batch.batchId });
    const checked = await this.batches.check(batch);
    await requireRows(caller, checked);
    return checked;
  }

  async batch(caller: Caller, id: BatchId, waiting?: Waiting) {
    requirePermission(caller, 'read', id.app);
    await requireOwnBatch(caller, id, () => this.batches.startedBy(id));
    await this.waits.until(caller, waiting, (options) => this.batches.untilEnd(id, options));
    return this.readStatus(caller, () => this.batches.state(id));
  }

  /** Without `app`, those of every application of the caller. */
  async listBatches(caller: Caller, { limit, cursor, ...filter }: BatchFilter & PageRequest) {
    const within = listedWithin(caller, filter.app);
    const read = async (page: PageRequest) => {
      const { batches: rows, ...rest } = await this.batches.listPage({ ...filter, ...within }, page);
      return { rows, ...rest };
    };
    const isVisible = ({ batchId }: ListedBatch) => isWithinScope(caller, { batchId });
    const { rows: batches, ...rest } = await this.pageOf(caller, { limit, cursor }, read, isVisible);
    return { batches, ...rest };
  }

  private pageOf<Row>(
    caller: Caller,
    page: PageRequest,
    read: (page: PageRequest) => Promise<Page<Row>>,
    isVisible: (row: Row) => boolean,
  ): Promise<Page<Row>> {
    return this.withTemporalDeadline(() =>
      isScoped(caller) ? visiblePage(page, read, isVisible) : read(page),
    );
  }

  /** Payouts that these batches have started, as lists know them. */
  async startedByBatches(
    caller: Caller,
    batches: readonly Pick<ListedBatch, 'app' | 'batchId' | 'startedAt'>[],
  ) {
    for (const { app } of batches) listedWithin(caller, app);
    const { payouts, isCut } = await this.withTemporalDeadline(() =>
      payoutsOfBatches(this.client, this.searchKeys, batches),
    );
    return { payouts: visibleRows(caller, payouts), isCut };
  }

  /**
   * The rows of a batch with their payouts, as lists know them: those that the caller may see, as in its results (H358).
   * Undefined if there are too many.
   */
  async batchRows(caller: Caller, state: BatchState): Promise<RowsOfBatch | undefined> {
    const { app, batchId } = state;
    requirePermission(caller, 'read', app);
    await requireOwnBatch(caller, { app, batchId }, () => this.batches.startedBy({ app, batchId }));
    const read = await this.rowsOfBatches.of(state, async (startedAt) =>
      this.startedByBatches(caller, [{ app, batchId, startedAt }]),
    );
    return read && { ...read, rows: read.rows.filter(({ request }) => isPayoutWithinScope(caller, request)) };
  }

  /** Stops starting rows; canceling again returns the state again. Throws `EndedError`. */
  async cancelBatch(caller: Caller, id: BatchId) {
    requirePermission(caller, 'cancel', id.app);
    await requireOwnBatch(caller, id, () => this.batches.startedBy(id), mayCancelAny(caller));
    return this.batches.cancelOpen(id);
  }

  async quote(caller: Caller, request: CheckedPayoutRequest) {
    requirePermission(caller, 'quote', request.app);
    requirePayoutScope(caller, request);
    return this.readProvider(caller, (reads) => reads.quote(request));
  }

  async accounts(caller: Caller, { app, clientId, openId }: ProviderRead & { clientId: string }) {
    requirePermission(caller, 'account', app);
    requireScope(caller, { clientId, openId });
    const found = await this.readProvider(caller, (reads) => reads.accounts(app, clientId, openId));
    if (!found) throw new Problem('not-found', 'the provider has no accounts of this client');
    return found;
  }

  async receivingBalance(
    caller: Caller,
    { app, payerId, currency, openId }: ProviderRead & { payerId: string; currency: string },
  ) {
    requirePermission(caller, 'account', app);
    requireScope(caller, { payerId, openId });
    return this.readProvider(caller, (reads) => reads.receivingBalance(app, payerId, currency, openId));
  }

  async receivingDetail(caller: Caller, { app, accountId, openId }: ProviderRead & { accountId: string }) {
    requirePermission(caller, 'account', app);
    // Whose account it is, only the provider knows.
    requireScope(caller, { payerId: undefined, openId });
    const known = await this.readProvider(caller, (reads) => reads.receivingDetail(app, accountId, openId));
    if (!known) throw new Problem('not-found', 'the provider has no such account');
    return known;
  }

  private readProvider<T>(caller: Caller, read: (reads: ProviderReads) => Promise<T>): Promise<T> {
    const reads = new ProviderReads(this.client, starterName(caller));
    return this.readShares.run(caller.name, () =>
      this.readTurns.run(caller.name, () => this.withProviderDeadline(() => read(reads))),
    );
  }

  async openReceivingAccount(caller: Caller, request: CheckedReceivingAccountRequest) {
    requirePermission(caller, 'open', request.app);
    requireOpeningScope(caller, request);
    const startedBy = starterName(caller);
    return this.withTemporalDeadline(() => this.receivingAccounts.open(request, { startedBy }));
  }

  async receivingAccount(caller: Caller, id: OpeningId, waiting?: Waiting) {
    requirePermission(caller, 'read', id.app);
    if (isScoped(caller)) await this.requireOwnOpening(caller, id);
    await this.waits.until(caller, waiting, (options) => this.receivingAccounts.untilEnd(id, options));
    return this.readStatus(caller, () => this.receivingAccounts.look(id).catch(rejectedStart));
  }

  async resolveReceivingAccount(
    caller: Caller,
    id: OpeningId,
    resolution: z.output<typeof openingResolution>,
  ) {
    requirePermission(caller, 'resolve', id.app);
    if (isScoped(caller)) await this.requireOwnOpening(caller, id);
    else await this.withTemporalDeadline(() => this.receivingAccounts.handle(id).describe());
    const by = caller.name;
    return this.withProviderDeadline(async () => {
      await this.receivingAccounts.requireWorker(id);
      return this.receivingAccounts.resolve(id, { ...resolution, by });
    });
  }

  private async requireOwnOpening(caller: Caller, id: OpeningId): Promise<void> {
    const request = await startWithin(caller, () =>
      this.withTemporalDeadline(() => this.receivingAccounts.startedRequest(id)),
    );
    orAbsent(() => requireOpeningScope(caller, request));
  }

  async application(caller: Caller, app: string) {
    requirePermission(caller, 'read', app);
    return this.withTemporalDeadline(() => this.pauses.state(app));
  }

  async pause(caller: Caller, app: string, { reason }: { reason?: string | undefined } = {}) {
    requirePermission(caller, 'pause', app);
    requireUnscoped(caller, 'pauses no application');
    return this.withTemporalDeadline(() => this.pauses.pause(app, { by: caller.name, reason }));
  }

  /** `pausedAt`: of the pause that was read. */
  async resume(caller: Caller, app: string, pausedAt?: string) {
    requirePermission(caller, 'pause', app);
    requireUnscoped(caller, 'pauses no application');
    const { paused } = pausedAt === undefined ? {} : await this.application(caller, app);
    if (paused && paused.at !== pausedAt)
      throw new Problem(
        'not-accepted-now',
        `the pause on the page is over: ${paused.by} paused for another reason`,
      );
    return this.withTemporalDeadline(() => this.pauses.resume(app, { by: caller.name }));
  }

  async endpoints(caller: Caller, app: string) {
    requirePermission(caller, 'read', app);
    requireUnscoped(caller, NO_ENDPOINTS);
    return this.withTemporalDeadline(() => this.events.endpoints(app));
  }

  async testEndpoint(caller: Caller, ref: EndpointId) {
    requireEndpoint(caller, ref);
    return this.withProviderDeadline(() => this.events.test(ref));
  }

  /** `since`: ISO 8601 with an offset. After a deadline, some events may be queued; a repetition sends the same ones. */
  async resendEvents(caller: Caller, ref: EndpointId, since: string) {
    requireEndpoint(caller, ref);
    return this.withProviderDeadline(() => this.events.resendSince(ref, since));
  }

  async enableEndpoint(caller: Caller, ref: EndpointId) {
    requireEndpoint(caller, ref);
    return this.withTemporalDeadline(() => this.events.enable(ref, caller.name));
  }

  async authorizationLink(caller: Caller, app: string) {
    requirePermission(caller, 'authorize', app);
    // Any user may follow the link.
    requireScope(caller, { openId: undefined });
    if (!this.authorizations)
      throw new Problem('authorization-not-configured', 'this API server authorizes no users');
    return this.authorizations.issue(app);
  }

  /**
   * Reserves the payouts within the daily limits, then starts them. What `find` returns exists already and needs no
   * reservation: a repeated start gets the same response when the limit is exhausted. Throws `DailyLimitError`; then nothing
   * was started.
   */
  private async withinDailyLimits<T>(
    caller: Caller,
    requests: readonly CheckedPayoutRequest[],
    { find, start }: { find(): Promise<T | undefined>; start(): Promise<T> },
  ): Promise<T> {
    if (!hasDailyLimits(caller)) return start();
    const known = await find();
    if (known !== undefined) return known;
    await this.allowances.reserve(caller.actsFor ?? caller.name, caller, requests);
    return start();
  }
}

/** An endpoint gets the events of everybody's payouts. */
const NO_ENDPOINTS = 'sees no endpoints';

/** What concerns everybody's payouts is not for a limited key. */
function requireUnscoped(caller: Caller, what: string): void {
  if (isScoped(caller))
    throw new Problem('outside-scope', `a key that is limited to clients, payers or users ${what}`);
}

function requireEndpoint(caller: Caller, { app }: EndpointId): void {
  requirePermission(caller, 'events', app);
  requireUnscoped(caller, NO_ENDPOINTS);
}
