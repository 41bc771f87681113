/** Lists and counts, which lag behind what has happened. */
import { temporal } from '../sdk.ts';
import { grpcError } from './errors.ts';
import { value } from './markers.ts';
import { infoOf } from './rpc.ts';
import type { Run } from './run.ts';
import type { Temporal } from './temporal.ts';

const { WorkflowExecutionStatus } = temporal.api.enums.v1;

type Field = string | number | boolean | undefined;
type Record = ReadonlyMap<string, Field>;
type Condition = (record: Record) => boolean;

interface Listed {
  info: ReturnType<typeof infoOf>;
  record: Record;
}

export class Visibility {
  /** What happens is listed at most so much later. */
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
        this.listed.set(run, { info: infoOf(run), record: recordOf(run) });
      });
    });
  }

  /** Newest first. Throws INVALID_ARGUMENT for a query that is not understood. */
  find(query: string): Listed[] {
    const matches = query.trim() ? new Parser(query).parse() : () => true;
    const found = [...this.listed].filter(([, { record }]) => matches(record));
    return found.toSorted(([one], [other]) => other.startedAt - one.startedAt).map(([, listed]) => listed);
  }
}

function recordOf(run: Run): Record {
  const fields: [string, Field][] = Object.entries(run.attributes).map(([name, payload]) => {
    const field = value(payload);
    const [only] = Array.isArray(field) ? field : [field];
    return [name, only];
  });
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

/** What the product asks: conditions with AND, OR and parentheses. */
class Parser {
  private readonly tokens: string[] = [];
  private readonly query: string;

  constructor(query: string) {
    this.query = query;
    TOKEN.lastIndex = 0;
    for (let at = 0; at < query.trimEnd().length; at = TOKEN.lastIndex) {
      const token = TOKEN.exec(query)?.[1];
      if (token === undefined) throw this.notUnderstood();
      this.tokens.push(token);
    }
  }

  parse(): Condition {
    const condition = this.either();
    if (this.tokens.length > 0) throw this.notUnderstood();
    return condition;
  }

  private either(): Condition {
    const conditions = [this.both()];
    while (this.takes('OR')) conditions.push(this.both());
    return (record) => conditions.some((condition) => condition(record));
  }

  private both(): Condition {
    const conditions = [this.one()];
    while (this.takes('AND')) conditions.push(this.one());
    return (record) => conditions.every((condition) => condition(record));
  }

  private one(): Condition {
    if (!this.takes('(')) return this.comparison(this.next());
    const condition = this.either();
    this.expect(')');
    return condition;
  }

  private comparison(field: string): Condition {
    const isNegated = this.takes('NOT');
    const operator = this.next().toUpperCase();
    const test = this.test(operator);
    return (record) => test(record.get(field)) !== isNegated;
  }

  private test(operator: string): (field: Field) => boolean {
    if (operator === 'IN') {
      const values = this.values();
      return (field) => values.some((one) => equal(field, one));
    }
    if (operator === 'BETWEEN') {
      const from = this.value();
      this.expect('AND');
      const until = this.value();
      return (field) => compare(field, from) >= 0 && compare(field, until) <= 0;
    }
    if (operator === 'IS') {
      const isNegated = this.takes('NOT');
      this.expect('NULL');
      return (field) => (field === undefined) !== isNegated;
    }
    const wanted = this.value();
    const known = COMPARISONS.get(operator);
    if (!known) throw this.notUnderstood();
    return (field) => known(field, wanted);
  }

  private values(): string[] {
    this.expect('(');
    const values = [this.value()];
    while (this.takes(',')) values.push(this.value());
    this.expect(')');
    return values;
  }

  private value(): string {
    const token = this.next();
    return /^['"]/.test(token) ? token.slice(1, -1).replaceAll("''", "'") : token;
  }

  private next(): string {
    const token = this.tokens.shift();
    if (token === undefined) throw this.notUnderstood();
    return token;
  }

  private takes(word: string): boolean {
    if (this.tokens[0]?.toUpperCase() !== word) return false;
    this.tokens.shift();
    return true;
  }

  private expect(word: string): void {
    if (!this.takes(word)) throw this.notUnderstood();
  }

  private notUnderstood() {
    return grpcError('INVALID_ARGUMENT', `the simulation does not understand the query ${this.query}`);
  }
}

const COMPARISONS = new Map<string, (field: Field, wanted: string) => boolean>([
  ['=', equal],
  ['!=', (field, wanted) => field !== undefined && !equal(field, wanted)],
  ['<', (field, wanted) => compare(field, wanted) < 0],
  ['<=', (field, wanted) => compare(field, wanted) <= 0],
  ['>', (field, wanted) => compare(field, wanted) > 0],
  ['>=', (field, wanted) => compare(field, wanted) >= 0],
  ['STARTS_WITH', (field, wanted) => typeof field === 'string' && field.startsWith(wanted)],
]);

function equal(field: Field, wanted: string): boolean {
  return field !== undefined && compare(field, wanted) === 0;
}

/** Times are written as text; an absent field compares with nothing. */
function compare(field: Field, wanted: string): number {
  if (field === undefined) return Number.NaN;
  if (typeof field !== 'number') return String(field) === wanted ? 0 : String(field) < wanted ? -1 : 1;
  const other = Number.isNaN(Number(wanted)) ? Date.parse(wanted) : Number(wanted);
  return field - other;
}
