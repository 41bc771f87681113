/**
 * A list server with many ended payouts, for the reconciliation: it counts the requests for lists and counts, and when they came.
 * The payouts are made up when they are read. Follow-ups that are started here are only noted. All answers come at once.
 */
import { defaultPayloadConverter } from '@temporalio/common';
import { dailyReport } from '../../src/client/reads.ts';
import type { DailyReport } from '../../src/contract/reconciliation.ts';
import { Long, temporal } from '../../worlds/sdk.ts';
import { grpcError } from '../../worlds/temporal/errors.ts';
import { toStamp } from '../../worlds/temporal/time.ts';
import { payoutRequest } from './requests.ts';
import type { VirtualWorld } from './virtual-world.ts';

const api = temporal.api.workflowservice.v1;
const { EventType, HistoryEventFilterType, WorkflowExecutionStatus: Status } = temporal.api.enums.v1;

const PAYOUT = 'payout:default:made-up-';
const FOLLOW_UP = 'payout-follow-up:default:made-up-';
const MOST_PER_PAGE = 1_000;
/** Searches of the renewals and of the lease. */
const OF_OTHERS = /'(tokenRenewal|rateLimitLease)'/;
const WITHOUT_ORDER = /PayoutOutcome IN \('NOT_CREATED'\)/;

export interface MadeUp {
  count: number;
  /** They close evenly over this time. Unix milliseconds. */
  fromMs: number;
  untilMs: number;
  /** Lists show some of them late: this long after their end. */
  lateMs?: (at: number) => number;
  /** Their results cannot be decoded. */
  isUnreadable?: (at: number) => boolean;
}

type HistoryRequest = ReturnType<typeof api.GetWorkflowExecutionHistoryRequest.decode>;

type ListRequest = ReturnType<typeof api.ListWorkflowExecutionsRequest.decode>;

interface Row {
  workflowId: string;
  type: string;
  closedMs: number;
  at: number;
}

export class ListedPayouts {
  /** The virtual time of each request for a list or a count. */
  readonly requestsAtMs: number[] = [];
  /** The requests of the reconciliation among them. */
  requests = 0;
  /** Results that were read. */
  reads = 0;
  /** Results that can be read until Temporal refuses to. */
  failsAfter = Number.POSITIVE_INFINITY;
  /** When the follow-up of each payout was started. */
  readonly followedAtMs = new Map<number, number>();
  private readonly world: VirtualWorld;
  private readonly made: MadeUp;
  private areAllReadable = false;

  constructor(world: VirtualWorld, made: MadeUp) {
    this.world = world;
    this.made = made;
    world.system.service.stub = (method, bytes) => this.answer(method, bytes);
  }

  /** As if the workers got a missing key. */
  makeReadable(): void {
    this.areAllReadable = true;
  }

  /** The most requests in any second. */
  get mostPerSecond(): number {
    let [most, first] = [0, 0];
    for (const [last, atMs] of this.requestsAtMs.entries()) {
      while ((this.requestsAtMs[first] ?? 0) <= atMs - 1_000) first += 1;
      most = Math.max(most, last - first + 1);
    }
    return most;
  }

  private answer(method: string, bytes: Uint8Array): Uint8Array | undefined {
    switch (method) {
      case 'listworkflowexecutions':
        return this.list(api.ListWorkflowExecutionsRequest.decode(bytes));
      case 'countworkflowexecutions':
        return this.count(api.CountWorkflowExecutionsRequest.decode(bytes).query);
      case 'describeworkflowexecution':
        return this.describe(api.DescribeWorkflowExecutionRequest.decode(bytes).execution?.workflowId);
      case 'getworkflowexecutionhistory':
        return this.history(api.GetWorkflowExecutionHistoryRequest.decode(bytes));
      case 'startworkflowexecution':
        return this.start(api.StartWorkflowExecutionRequest.decode(bytes).workflowId);
      default:
        return undefined;
    }
  }

  private list({ query, pageSize, nextPageToken }: ListRequest): Uint8Array | undefined {
    const rows = this.search(query);
    if (!rows) return undefined;
    const from = Number(Buffer.from(nextPageToken).toString() || 0);
    const page = rows.slice(from, from + Math.min(pageSize, MOST_PER_PAGE));
    const next = from + page.length < rows.length ? String(from + page.length) : '';
    return api.ListWorkflowExecutionsResponse.encode({
      executions: page.map((row) => this.info(row)),
      nextPageToken: Buffer.from(next),
    }).finish();
  }

  private count(query: string): Uint8Array | undefined {
    const rows = this.search(query);
    return (
      rows && api.CountWorkflowExecutionsResponse.encode({ count: Long.fromNumber(rows.length) }).finish()
    );
  }

  private describe(workflowId: string | null | undefined): Uint8Array | undefined {
    const row = this.rowOf(workflowId);
    return (
      row && api.DescribeWorkflowExecutionResponse.encode({ workflowExecutionInfo: this.info(row) }).finish()
    );
  }

  private start(workflowId: string): Uint8Array | undefined {
    const at = numberIn(workflowId, FOLLOW_UP);
    if (at === undefined) return undefined;
    if (this.followedAtMs.has(at)) throw grpcError('ALREADY_EXISTS', 'Workflow execution already started');
    this.followedAtMs.set(at, this.world.clock.wallMs());
    return api.StartWorkflowExecutionResponse.encode({ runId: `run-${at}`, started: true }).finish();
  }

  /** Undefined for a search that cannot find any of them. */
  private search(query: string): Row[] | undefined {
    this.requestsAtMs.push(this.world.clock.nowMs());
    if (!OF_OTHERS.test(query)) this.requests += 1;
    if (query.includes('WorkflowId IN (')) return this.rowsNamed(query);
    if (!query.includes('CloseTime')) return undefined;
    const hasPayouts = query.includes("'payout'") && query.includes("'Completed'");
    return hasPayouts && !WITHOUT_ORDER.test(query) ? this.rowsIn(timesIn(query)) : [];
  }

  private rowsNamed(query: string): Row[] {
    const ids = [...query.matchAll(/'(payout(?:-follow-up)?:default:made-up-\d+)'/g)];
    return ids.flatMap(([, id]) => (id && this.isVisible(id) ? (this.rowOf(id) ?? []) : []));
  }

  /** The newest first, as Temporal does. */
  private rowsIn({ fromMs, untilMs }: Times): Row[] {
    const rows: Row[] = [];
    const first = Math.max(0, Math.ceil((fromMs - this.made.fromMs) / this.everyMs));
    for (let at = first; at < this.made.count && this.closedMs(at) < untilMs; at += 1) {
      const row = this.isVisible(`${PAYOUT}${at}`) && this.rowOf(`${PAYOUT}${at}`);
      if (row) rows.push(row);
    }
    return rows.reverse();
  }

  private get everyMs(): number {
    return (this.made.untilMs - this.made.fromMs) / this.made.count;
  }

  private closedMs(at: number): number {
    return Math.floor(this.made.fromMs + at * this.everyMs);
  }

  private isVisible(workflowId: string): boolean {
    const payout = numberIn(workflowId, PAYOUT);
    if (payout === undefined) return this.followedAtMs.has(numberIn(workflowId, FOLLOW_UP) ?? -1);
    return this.closedMs(payout) + (this.made.lateMs?.(payout) ?? 0) <= this.world.clock.wallMs();
  }

  private rowOf(workflowId: string | null | undefined): Row | undefined {
    const at = numberIn(workflowId, PAYOUT);
    if (at !== undefined)
      return { workflowId: workflowId ?? '', type: 'payout', closedMs: this.closedMs(at), at };
    const follower = numberIn(workflowId, FOLLOW_UP);
    if (follower === undefined) return undefined;
    if (!this.followedAtMs.has(follower)) {
      throw grpcError('NOT_FOUND', 'no such follow-up');
    }
    return { workflowId: workflowId ?? '', type: 'payoutFollowUp', closedMs: 0, at: follower };
  }

  private info({ workflowId, type, closedMs, at }: Row) {
    const isPayout = type === 'payout';
    const startedMs = isPayout ? closedMs - 60_000 : (this.followedAtMs.get(at) ?? 0);
    return {
      execution: { workflowId, runId: `run-${at}` },
      type: { name: type },
      startTime: toStamp(startedMs),
      ...(isPayout && { closeTime: toStamp(closedMs) }),
      status: isPayout
        ? Status.WORKFLOW_EXECUTION_STATUS_COMPLETED
        : Status.WORKFLOW_EXECUTION_STATUS_RUNNING,
      firstRunId: `run-${at}`,
      memo: { fields: { environment: payload('test') } },
      searchAttributes: {
        indexedFields: isPayout ? { PayoutApp: keyword('default'), PayoutOutcome: keyword('SUCCESS') } : {},
      },
    };
  }

  private history(request: HistoryRequest): Uint8Array | undefined {
    const { execution, historyEventFilterType } = request;
    const row = this.rowOf(execution?.workflowId);
    if (!row) return undefined;
    const isEnd = historyEventFilterType === HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    if (isEnd) this.reads += 1;
    if (this.reads > this.failsAfter) throw grpcError('PERMISSION_DENIED', 'no longer');
    const partnerOrderId = `made-up-${row.at}`;
    const end = {
      eventId: Long.fromNumber(9),
      eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
      workflowExecutionCompletedEventAttributes: { result: { payloads: [this.result(row)] } },
    };
    const start = {
      eventId: Long.fromNumber(1),
      eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
      workflowExecutionStartedEventAttributes: {
        input: {
          payloads: [
            payload(
              isFollowUp(row)
                ? { endedAtMs: this.closedMs(row.at) }
                : payoutRequest(partnerOrderId, { app: 'default' }),
            ),
          ],
        },
        memo: { fields: { environment: payload('test') } },
        firstExecutionRunId: `run-${row.at}`,
      },
    };
    return api.GetWorkflowExecutionHistoryResponse.encode({
      history: { events: [isEnd ? end : start] },
    }).finish();
  }

  private result({ at }: Row) {
    if (!this.areAllReadable && this.made.isUnreadable?.(at))
      return { metadata: { encoding: Buffer.from('binary/unknown') }, data: Buffer.from('?') };
    const target = { currency: 'CNY', amount: '100.00' };
    return payload({
      ...{ partnerOrderId: `made-up-${at}`, outcome: 'SUCCESS', orderId: `order-${at}`, debits: [] },
      ...{ received: target, splits: [{ distributeId: 'S-1', target, status: 'SUCCESS', refunded: false }] },
    });
  }
}

/** Lets the Schedules reconcile payouts that end over this time, and reports the days on which they ended. */
export async function reconciledPayouts(world: VirtualWorld, count: number, overMs: number) {
  const fromMs = world.clock.wallMs();
  const list = new ListedPayouts(world, { count, fromMs, untilMs: fromMs + overMs });
  // Until the last of them have been reconciled.
  await world.pass(overMs + 16 * 60_000);
  const { requests } = list;
  const beganMs = world.clock.nowMs();
  const reports: DailyReport[] = [];
  const [first = '', last = ''] = [fromMs, fromMs + overMs].map((ms) =>
    new Date(ms).toISOString().slice(0, 10),
  );
  for (const day of new Set([first, last])) reports.push(await dailyReport(world.client, 'test', day));
  const reported = {
    payouts: reports.flatMap(({ apps }) => apps).reduce((sum, { outcomes }) => sum + outcomes.SUCCESS, 0),
    requests: list.requests - requests,
    seconds: (world.clock.nowMs() - beganMs) / 1_000,
    bytes: Math.max(...reports.map((report) => JSON.stringify(report).length)),
  };
  return { followed: list.followedAtMs.size, requests, mostPerSecond: list.mostPerSecond, reported };
}

interface Times {
  fromMs: number;
  untilMs: number;
}

function timesIn(query: string): Times {
  const [, from = '1970-01-01'] = /CloseTime (?:>=|BETWEEN) '([^']+)'/.exec(query) ?? [];
  const [, before] = /CloseTime < '([^']+)'/.exec(query) ?? [];
  const [, last] = /CloseTime BETWEEN '[^']+' AND '([^']+)'/.exec(query) ?? [];
  const untilMs = before ? Date.parse(before) : last ? Date.parse(last) + 1 : Number.POSITIVE_INFINITY;
  return { fromMs: Date.parse(from), untilMs };
}

const isFollowUp = ({ type }: Row) => type === 'payoutFollowUp';

function numberIn(workflowId: string | null | undefined, prefix: string): number | undefined {
  return workflowId?.startsWith(prefix) ? Number(workflowId.slice(prefix.length)) : undefined;
}

function payload(of: unknown) {
  return defaultPayloadConverter.toPayload(of);
}

function keyword(of: string) {
  const { metadata, data } = payload(of);
  return { metadata: { ...metadata, type: Buffer.from('Keyword') }, ...(data && { data }) };
}
