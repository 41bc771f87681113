import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as temporal from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { CLIENT_ERRORS, MEMO_FIELDS, TEMPORAL_ERRORS } from '../../scripts/reference/texts.ts';
import { REFERENCE_PAGE, referencePage } from '../../scripts/write-reference.ts';
import { ACTIVITY_FAILURES } from '../../src/activities/shared/failures.ts';
import * as client from '../../src/client/index.ts';
import {
  ENDPOINT_ATTENTION,
  FOLLOW_UP_ATTENTION,
  PAYOUT_ATTENTION,
  RECEIVING_ACCOUNT_ATTENTION,
  TOKEN_ATTENTION,
  WORKFLOW_ATTENTION,
} from '../../src/contract/attention-codes.ts';
import { batchStateSchema } from '../../src/contract/batch.ts';
import {
  AUDIT_STATUSES,
  EVENT_TYPES,
  OUTCOMES,
  PHASES,
  REASON_CODES,
  RECEIVING_ACCOUNT_OUTCOMES,
  RECEIVING_ACCOUNT_PHASES,
  RECEIVING_ACCOUNT_REASON_CODES,
  ROW_OUTCOMES,
} from '../../src/contract/codes.ts';
import { ERRORS } from '../../src/contract/errors.ts';
import * as failureTypes from '../../src/contract/failures.ts';
import { PROBLEM_KINDS, PROBLEMS } from '../../src/contract/problems.ts';
import { AUTHORIZATION_OUTCOMES } from '../../src/contract/tokens.ts';
import { BUSINESS_EVENTS, WORKER_METRICS } from '../../src/domain/telemetry.ts';
import { ApiMetrics } from '../../src/starters/api/monitoring.ts';
import { SEARCH_ATTRIBUTES } from '../../src/temporal/namespace.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const page = readFileSync(REFERENCE_PAGE, 'utf8');

/** The code in `folders`, without the tables from which the reference is generated. */
function source(...folders: string[]): string {
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .filter((name) => !/(?:attention-codes|contract\/problems|meanings)\.ts$/.test(name))
        .map((name) => read(join(folder, name))),
    )
    .join('\n');
}

/** The distinct matches of the first group of `pattern`. */
function found(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, first = '']) => first))].sort();
}

/** The first cells of the rows below a heading. */
function rowsOf(title: string): string[] {
  const section = new RegExp(`^#+ ${title}\\n([\\s\\S]*?)(?=^#|(?![\\s\\S]))`, 'm').exec(page)?.[1] ?? '';
  return found(section, /^\| `([\w.-]+)` /gm);
}

const named = (table: object) => Object.keys(table).sort();
const isText = (value: unknown) => typeof value === 'string';

/** `flag('CODE', …)`, `flag(x ? 'CODE' : 'CODE', …)`, `{ code: 'CODE', … }`, or a constant. */
function raised(text: string): string[] {
  const flags = [...text.matchAll(/\bflag\(([^;]+);/g)].map(([, inside = '']) => inside).join('\n');
  const others = /(?:\bcode: |\bconst \w+ = )'([A-Z][A-Z_]+)'/g;
  return [...found(flags, /'([A-Z][A-Z_]+)'/g), ...found(text, others)];
}

test('docs/reference.md equals the output of npm run generate', () => {
  expect(page).toBe(referencePage());
});

describe('exactly the names in the code have rows', () => {
  test.each([
    ['Phases', PHASES],
    ['Outcomes', OUTCOMES],
    ['Reason codes', REASON_CODES],
    ['Audit statuses', AUDIT_STATUSES],
    ['Request phases', RECEIVING_ACCOUNT_PHASES],
    ['Request outcomes', RECEIVING_ACCOUNT_OUTCOMES],
    ['Request reason codes', RECEIVING_ACCOUNT_REASON_CODES],
    ['Batch phases', batchStateSchema.shape.phase.options],
    ['Row outcomes', ROW_OUTCOMES.filter((outcome) => !OUTCOMES.some((one) => one === outcome))],
    ['User authorizations', AUTHORIZATION_OUTCOMES],
    ['Failures of workflows and messages', Object.values(failureTypes).filter(isText)],
    ['Metrics of a worker', named(WORKER_METRICS)],
    ['Payouts that need attention', named(PAYOUT_ATTENTION)],
    ['Event types', EVENT_TYPES],
    ['Search attributes', named(SEARCH_ATTRIBUTES)],
  ])('%s', (title, names) => {
    expect(rowsOf(title)).toEqual([...names].sort());
  });
});

describe('attention codes', () => {
  const workflows = (part: string) => source('src/domain', 'src/workflows/shared', `src/workflows/${part}`);

  test.each([
    ...named(PAYOUT_ATTENTION).map((code) => [code, 'payout'] as const),
    ...named(RECEIVING_ACCOUNT_ATTENTION).map((code) => [code, 'receiving-account'] as const),
    ...named(TOKEN_ATTENTION).map((code) => [code, 'tokens'] as const),
    ...named(ENDPOINT_ATTENTION).map((code) => [code, 'events'] as const),
    ...[...named(FOLLOW_UP_ATTENTION), ...named(WORKFLOW_ATTENTION)].map(
      (code) => [code, 'reconciliation'] as const,
    ),
  ])('%s is raised by %s', (code, part) => {
    expect(raised(workflows(part))).toContain(code);
  });

  test('workflow details contain only listed codes', () => {
    const written = found(source('src/workflows/reconciliation'), /\bcode: '([A-Z][A-Z_]+)'/g);
    expect(written).toContain('NOT_RECONCILED');
    expect(named({ ...FOLLOW_UP_ATTENTION, ...WORKFLOW_ATTENTION })).toEqual(expect.arrayContaining(written));
    // Details list flags by `flagLines` only.
    expect(found(source('src/workflows'), /⚠ ([A-Z][A-Z_]+)\b/g)).toEqual([]);
  });
});

describe('failures', () => {
  const all = source('src');
  const literal = [
    ...found(all, /ApplicationFailure\.create\(\{\s*type: '(\w+)'/g),
    ...found(all, /\b(?:failure|waitByRetry)\(\s*'(\w+)'/g),
    ...found(all, /nonRetryable\([^;]*?'([A-Za-z]\w+)'[^;]*?\);/g),
  ];

  test('every type that is written where it is thrown has a row', () => {
    expect(literal).toEqual(expect.arrayContaining(['WRONG_WORKER', 'NOTHING_CHANGED', 'LEASE_LOST']));
    expect(literal.filter((type) => !(type in ACTIVITY_FAILURES))).toEqual([]);
  });

  test.each(named(ACTIVITY_FAILURES))('%s is raised', (type) => {
    // By name, by the provider's client, or by its table of responses.
    const kinds = "type|limited|unauthorized|system|illegal|'no-order'|'other-code'|others";
    const raising = 'new PaymentsError|failure|waitByRetry';
    expect(all).toMatch(new RegExp(`(?:(?:${kinds}): |(?:${raising})\\(\\s*)'${type}'`));
  });
});

describe('errors', () => {
  test('of the client library: the exported errors', () => {
    const classes = Object.entries(client).filter(
      ([, one]) => typeof one === 'function' && one.prototype instanceof Error,
    );
    expect(named(CLIENT_ERRORS)).toEqual(classes.map(([name]) => name).sort());
  });

  test('exactly the codes that the client library throws and the command line prints', () => {
    const text = source('src/client', 'src/starters/cli');
    const thrown = found(
      text,
      /(?:\bPayoutsError\(|\bsuper\(|\breturn \[|\bcode: |(?<='USAGE' \| ))\s*'([A-Z_]+)'/g,
    );
    expect(thrown).toEqual(named(ERRORS));
  });

  test('of the Temporal client: classes of that package', () => {
    expect(Object.keys(temporal)).toEqual(expect.arrayContaining(named(TEMPORAL_ERRORS)));
  });

  test('of the API server: every status that a route documents has a kind', () => {
    const text = source('src/starters/api', 'src/http');
    const documented = [
      ...found(text, /^\s*(?:problems: \{ |answers: \{ )?([45]\d\d): ['"]/gm),
      ...found(text, /, ([45]\d\d): ['"]/g),
    ];
    const statuses = Object.values(PROBLEMS).map(({ status }) => String(status));
    expect(documented).toEqual(expect.arrayContaining(['404', '409', '503', '504']));
    // The page of a failed authorization is no problem document.
    expect(documented.filter((status) => !statuses.includes(status))).toEqual([]);
  });

  test.each(PROBLEM_KINDS)('of the API server: %s is raised', (kind) => {
    const text = source('src/starters/api', 'src/http', 'src/desk', 'src/domain', 'src/service');
    const ofCodes = Object.values(ERRORS).map(({ problem }) => `'${problem}'`);
    expect(`${text} ${ofCodes}`).toContain(`'${kind}'`);
  });
});

test('memo fields: exactly those that are read or written', () => {
  const all = source('src');
  const read = found(all, /\bmemo(?:Of\(run\)\))?(?:\?\.)?\['(\w+)'\]/g);
  const destructured = found(all, /const \{ ([\w, ]+) \} = memo \?\? \{\}/g).flatMap((names) =>
    names.split(', '),
  );
  const upserted = found(all, /upsertMemo\(\{ (\w+)/g);
  expect([...new Set([...read, ...destructured, ...upserted])].sort()).toEqual(named(MEMO_FIELDS));
});

describe('metrics', () => {
  test('of the API server: exactly those that it serves', async () => {
    const metrics = new ApiMetrics();
    for (const metric of ['reachable', 'tasksFailing', 'waiting'] as const) metrics.gauge(metric, () => 0);
    const served = found(await metrics.registry.metrics(), /^# HELP (payouts_\w+)/gm);
    // The receiver's gauge is served only beside a receiver.
    expect(rowsOf('Metrics of the API server')).toEqual(expect.arrayContaining(served));
    expect(rowsOf('Metrics of the API server')).toContain('payouts_notifications_waiting');
  });

  test('of a worker: the code records each of them, and no other', () => {
    const all = source('src/workflows', 'src/workers');
    expect(named(WORKER_METRICS).filter((name) => !all.includes(`'${name}'`))).toEqual([]);
    expect(all).not.toMatch(/create(Counter|Gauge|Histogram)\(/);
  });
});

test('log events: the code logs each of them', () => {
  const all = source('src/workflows', 'src/workers', 'src/starters/api');
  expect(named(BUSINESS_EVENTS).filter((name) => !all.includes(`'${name}'`))).toEqual([]);
});

test('every command on the page is a command of the command line', () => {
  const text = source('src/starters/cli');
  const verbs = found(text, /\b(?:command|decision)\(\s*(?:\w+,\s*)?'([a-z-]+)/g);
  const typed = found(page, /`payouts ([a-z-]+)/g);
  expect(typed.length).toBeGreaterThan(8);
  expect(typed.filter((verb) => !verbs.includes(verb))).toEqual([]);
});

test('the program reads every setting on the page', () => {
  const settings = source('src/config', 'src/starters', 'src/workers');
  const names = found(page, /\b((?:PAYOUTS|PAYMENTS)_[A-Z_]+)\b/g);
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !settings.includes(name) && !(name in FOLLOW_UP_ATTENTION))).toEqual([]);
});
