/** Visibility: lists and counts, which lag behind events. */
import { SEARCH_ATTRIBUTES } from '../../src/temporal/namespace.ts';
import { temporal } from '../sdk.ts';
import type { Payload } from './commands.ts';
import { grpcError } from './errors.ts';
import { payload, value } from './markers.ts';
import { id, type Run } from './run.ts';
import type { Temporal } from './temporal.ts';
import { toStamp } from './time.ts';

const { WorkflowExecutionStatus } = temporal.api.enums.v1;
const LISTS: ReadonlySet<string> = new Set(
  Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => (type === 'KeywordList' ? [name] : [])),
);

type Field = string | number | boolean | undefined | readonly string[];
type FieldMap = ReadonlyMap<string, Field>;
type Condition = (record: FieldMap) => boolean;

/** In the year 5138. */
const LATEST_MS = 1e14;

interface Listed {
  info: ReturnType<typeof infoOf>;
  record: FieldMap;
  /** Of the page that ends with it. Sorts runs with the newest first. */
  token: string;
}

export class Visibility {
  /** The largest delay of a change. */
  lagMs = 500;
  private readonly listed = new Map<Run, Listed>();
  private readonly due = new Set<Run>();

  constructor(server: Temporal) {
    server.onForget.push(() => {
      this.listed.clear();
      this.due.clear();
    });
    server.onChange.push((run) => {
      if (this.due.has(run)) return;
      this.due.add(run);
      server.world.at(server.world.random.between(1, this.lagMs), () => {
        if (!this.due.delete(run)) return;
        this.listed.set(run, { info: listedInfo(run), record: recordOf(run), token: tokenOf(run) });
      });
    });
  }

  forget(run: Run): void {
    this.listed.delete(run);
    this.due.delete(run);
  }

  /** Newest first, after the page that ended with this token. Throws INVALID_ARGUMENT for an unsupported query. */
  find(query: string, after = ''): Listed[] {
    const matches = query.trim() ? new Parser(query).parse() : () => true;
    const found = [...this.listed.values()].filter(({ record, token }) => token > after && matches(record));
    return found.toSorted((one, other) => (one.token < other.token ? -1 : 1));
  }
}

function tokenOf({ startedAt, runId }: Run): string {
  return `${(LATEST_MS - startedAt).toFixed(2).padStart(18, '0')} ${runId}`;
}

/** With single values of attributes that are no lists, in whatever form the workflow sent them. */
function listedInfo(run: Run): ReturnType<typeof infoOf> {
  const info = infoOf(run);
  const sent = Object.entries(info.searchAttributes.indexedFields);
  const indexedFields = Object.fromEntries(
    sent.map(([name, one]) => [name, { ...one, data: payload(fieldOf(name, one)).data ?? null }]),
  );
  return { ...info, searchAttributes: { indexedFields } };
}

function fieldOf(name: string, sent: Payload): Field {
  const field = value(sent);
  const [only] = Array.isArray(field) && !LISTS.has(name) ? field : [field];
  return only;
}

function recordOf(run: Run): FieldMap {
  const fields = Object.entries(run.attributes).map(([name, sent]) => [name, fieldOf(name, sent)] as const);
  return new Map<string, Field>([
    ...fields,
    ['WorkflowId', run.workflowId],
    ['RunId', run.runId],
    ['WorkflowType', run.started.workflowType?.name ?? ''],
    ['TaskQueue', run.started.taskQueue?.name ?? ''],
    ['ExecutionStatus', nameOf(run.status)],
    ['StartTime', run.startedAt],
    ['CloseTime', run.closedAt],
  ]);
}

/** `WORKFLOW_EXECUTION_STATUS_TIMED_OUT` is TimedOut in a query. */
function nameOf(status: number): string {
  const words = (WorkflowExecutionStatus[status] ?? '').replace('WORKFLOW_EXECUTION_STATUS_', '').split('_');
  return words.map((word) => word.charAt(0) + word.slice(1).toLowerCase()).join('');
}

const TOKEN = /\s*('(?:[^']|'')*'|"[^"]*"|[(),]|!=|<=|>=|=|<|>|[\w.:-]+)/y;

/** The query grammar that the product uses: conditions with AND, OR and parentheses. */
class Parser {
  private readonly tokens: string[] = [];
  private readonly query: string;

  constructor(query: string) {
    this.query = query;
    TOKEN.lastIndex = 0;
    for (let at = 0; at < query.trimEnd().length; at = TOKEN.lastIndex) {
      const token = TOKEN.exec(query)?.[1];
      if (token === undefined) throw this.unsupported();
      this.tokens.push(token);
    }
  }

  parse(): Condition {
    const condition = this.parseOr();
    if (this.tokens.length > 0) throw this.unsupported();
    return condition;
  }

  private parseOr(): Condition {
    const conditions = [this.parseAnd()];
    while (this.accept('OR')) conditions.push(this.parseAnd());
    return (record) => conditions.some((condition) => condition(record));
  }

  private parseAnd(): Condition {
    const conditions = [this.parsePrimary()];
    while (this.accept('AND')) conditions.push(this.parsePrimary());
    return (record) => conditions.every((condition) => condition(record));
  }

  private parsePrimary(): Condition {
    if (!this.accept('(')) return this.parseComparison(this.next());
    const condition = this.parseOr();
    this.expect(')');
    return condition;
  }

  private parseComparison(field: string): Condition {
    const isNegated = this.accept('NOT');
    const operator = this.next().toUpperCase();
    const test = this.parseOperator(operator);
    return (record) => test(record.get(field)) !== isNegated;
  }

  private parseOperator(operator: string): (field: Field) => boolean {
    if (operator === 'IN') {
      const values = this.parseValues();
      return (field) => values.some((one) => equal(field, one));
    }
    if (operator === 'BETWEEN') {
      const from = this.parseValue();
      this.expect('AND');
      const until = this.parseValue();
      return (field) => compare(field, from) >= 0 && compare(field, until) <= 0;
    }
    if (operator === 'IS') {
      const isNegated = this.accept('NOT');
      this.expect('NULL');
      return (field) => (field === undefined) !== isNegated;
    }
    const operand = this.parseValue();
    const comparison = COMPARISONS.get(operator);
    if (!comparison) throw this.unsupported();
    return (field) => comparison(field, operand);
  }

  private parseValues(): string[] {
    this.expect('(');
    const values = [this.parseValue()];
    while (this.accept(',')) values.push(this.parseValue());
    this.expect(')');
    return values;
  }

  private parseValue(): string {
    const token = this.next();
    return /^['"]/.test(token) ? token.slice(1, -1).replaceAll("''", "'") : token;
  }

  private next(): string {
    const token = this.tokens.shift();
    if (token === undefined) throw this.unsupported();
    return token;
  }

  private accept(word: string): boolean {
    if (this.tokens[0]?.toUpperCase() !== word) return false;
    this.tokens.shift();
    return true;
  }

  private expect(word: string): void {
    if (!this.accept(word)) throw this.unsupported();
  }

  private unsupported() {
    return grpcError('INVALID_ARGUMENT', `the simulation does not support the query ${this.query}`);
  }
}

const COMPARISONS = new Map<string, (field: Field, operand: string) => boolean>([
  ['=', equal],
  ['!=', (field, operand) => field !== undefined && !equal(field, operand)],
  ['<', (field, operand) => compare(field, operand) < 0],
  ['<=', (field, operand) => compare(field, operand) <= 0],
  ['>', (field, operand) => compare(field, operand) > 0],
  ['>=', (field, operand) => compare(field, operand) >= 0],
  ['STARTS_WITH', (field, operand) => typeof field === 'string' && field.startsWith(operand)],
]);

/** A list equals each of its values. */
function equal(field: Field, operand: string): boolean {
  if (Array.isArray(field)) return field.includes(operand);
  return field !== undefined && compare(field, operand) === 0;
}

/** Times are written as text. An absent field equals nothing. */
function compare(field: Field, operand: string): number {
  if (field === undefined) return Number.NaN;
  if (typeof field !== 'number') return String(field) === operand ? 0 : String(field) < operand ? -1 : 1;
  const other = Number.isNaN(Number(operand)) ? Date.parse(operand) : Number(operand);
  return field - other;
}

/** The server adds the type of each attribute, and a client reads only attributes with a type. */
function withTypes(attributes: Run['attributes']): Run['attributes'] {
  const types: Readonly<Record<string, string>> = SEARCH_ATTRIBUTES;
  return Object.fromEntries(
    Object.entries(attributes).map(([name, payload]) => {
      const type = Buffer.from(types[name] ?? 'Keyword');
      return [name, { ...payload, metadata: { ...payload.metadata, type } }];
    }),
  );
}

export function infoOf(run: Run) {
  const { started, memo, attributes, closedAt } = run;
  return {
    execution: { workflowId: run.workflowId, runId: run.runId },
    type: started.workflowType ?? null,
    taskQueue: started.taskQueue?.name ?? '',
    startTime: toStamp(run.startedAt),
    executionTime: toStamp(run.startedAt),
    ...(closedAt !== undefined && { closeTime: toStamp(closedAt) }),
    status: run.status,
    historyLength: id(run.entries.length),
    memo: { fields: memo },
    searchAttributes: { indexedFields: withTypes(attributes) },
    firstRunId: started.firstExecutionRunId ?? '',
    rootExecution: started.rootWorkflowExecution ?? { workflowId: run.workflowId, runId: run.runId },
    ...(started.parentWorkflowExecution && { parentExecution: started.parentWorkflowExecution }),
  };
}
