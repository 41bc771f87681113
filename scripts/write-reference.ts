/** `docs/reference.md`, with the tables that are in the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ACTIVITY_FAILURES } from '../src/activities/shared/failures.ts';
import {
  codesOf,
  ENDPOINT_ATTENTION,
  type Explained,
  FOLLOW_UP_ATTENTION,
  PAYOUT_ATTENTION,
  RECEIVING_ACCOUNT_ATTENTION,
  TOKEN_ATTENTION,
  WHILE_OPEN,
  WORKFLOW_ATTENTION,
} from '../src/contract/attention-codes.ts';
import { EVENT_TYPES } from '../src/contract/codes.ts';
import { ERRORS, EXIT } from '../src/contract/errors.ts';
import { meaningOf } from '../src/contract/events.ts';
import { REASON_MEANINGS } from '../src/contract/meanings.ts';
import { PROBLEM_KINDS, PROBLEMS, problemType } from '../src/contract/problems.ts';
import { BUSINESS_EVENTS } from '../src/domain/telemetry.ts';
import { API_METRICS } from '../src/starters/api/monitoring.ts';
import { SEARCH_ATTRIBUTES } from '../src/temporal/namespace.ts';
import { anchorOf, code, table } from './markdown.ts';
import {
  CLIENT_ERRORS,
  EXIT_MEANINGS,
  MEMO_FIELDS,
  NOTIFICATION_RESULTS,
  SDK_METRICS,
  SEARCH_ATTRIBUTE_MEANINGS,
  TEMPORAL_ERRORS,
} from './reference/texts.ts';

export const REFERENCE_PAGE = join(import.meta.dirname, '../docs/reference.md');

const HEAD = `# Reference

Public codes and names. For settings, see [Configuration](configuration.md).`;

interface Section {
  title: string;
  text?: string;
  table?: string;
  parts?: Section[];
}

const SECTIONS: readonly Section[] = [
  {
    title: 'Payouts',
    text: "`phase`, `outcome` and `reason` of a payout's state. A `partnerOrderId` can't be used again: to pay after a payout without success, start another one.",
    parts: [
      { title: 'Phases', table: byHand('Phases') },
      { title: 'Outcomes', table: byHand('Outcomes') },
      {
        title: 'Reason codes',
        text: '`reason.code` of the outcomes `FAILED` (`PROVIDER_FAILED`) and `NOT_CREATED` (the others). `reason.message` has the details.',
        table: explained('code', REASON_MEANINGS),
      },
      {
        title: 'Audit statuses',
        text: '`auditStatus` of state and result.',
        table: byHand('Audit statuses'),
      },
    ],
  },
  {
    title: 'Receiving account requests',
    parts: [
      { title: 'Request phases', table: byHand('Request phases') },
      { title: 'Request outcomes', table: byHand('Request outcomes') },
      { title: 'Request reason codes', table: byHand('Request reason codes') },
    ],
  },
  {
    title: 'Batches',
    parts: [
      { title: 'Batch phases', table: byHand('Batch phases') },
      {
        title: 'Row outcomes',
        text: "`outcomes` counts rows by their payout's [outcome](#outcomes), or as one of these:",
        table: byHand('Row outcomes'),
      },
    ],
  },
  {
    title: 'User authorizations',
    text: 'The callback page shows the outcome in words.',
    table: byHand('User authorizations'),
  },
  {
    title: 'Event types',
    text: '`type` of an [event](events.md), each with a JSON Schema in [schemas](../schemas). `payouts events test` sends `endpoint.test`.',
    table: table(
      ['type', 'meaning'],
      EVENT_TYPES.map((type) => [code(type), meaningOf(type)]),
    ),
  },
  {
    title: 'Attention codes',
    text: '`reasons` of what [needs attention](operations.md#attention-flags).',
    parts: [
      {
        title: 'Payouts that need attention',
        text: `For a payout in review, see [Resolve a payout in review](operations.md#resolve-a-payout-in-review). These clear when the payout finishes: ${WHILE_OPEN.map(code).join(', ')}. An operator acknowledges the others.`,
        table: explained('code', PAYOUT_ATTENTION),
      },
      {
        title: 'Receiving accounts',
        text: 'For a request in review, see [Resolve a receiving account in review](operations.md#resolve-a-receiving-account-in-review).',
        table: explained('code', RECEIVING_ACCOUNT_ATTENTION),
      },
      {
        title: 'Tokens',
        text: '`payouts tokens` lists them; see [operations](operations.md#tokens).',
        table: explained('code', TOKEN_ATTENTION),
      },
      {
        title: 'Follow-ups',
        text: 'Found after a payout finished; see [operations](operations.md#follow-ups).',
        table: explained('code', FOLLOW_UP_ATTENTION),
      },
      {
        title: 'Endpoints',
        text: '`payouts events list` lists them; see [events](events.md#endpoints-that-fail).',
        table: explained('code', ENDPOINT_ATTENTION),
      },
      {
        title: 'Workflows',
        text: 'To repair one, see [stuck workflows](operations.md#stuck-workflows) and [reconciliation](operations.md#reconciliation).',
        table: explained('code', WORKFLOW_ATTENTION),
      },
    ],
  },
  {
    title: 'Errors',
    parts: [
      {
        title: 'Client library',
        text: 'A payout that ends as `FAILED` or `NOT_CREATED` is a result, not an error.',
        table: explained('class', CLIENT_ERRORS),
      },
      {
        title: 'Error codes',
        text: "`code` of a `PayoutsError`, and `error.code` of the CLI with `--json`. `type` is the API server's. Codes without a `type` are only the CLI's.",
        table: table(
          ['code', 'exit code', 'type', 'meaning', 'what to do'],
          codesOf(ERRORS).map((name) => {
            const { exit, problem, meaning, action } = ERRORS[name];
            return [code(name), `${EXIT[exit]}`, problem ? code(problemType(problem)) : '', meaning, action];
          }),
        ),
      },
      {
        title: 'Errors of the Temporal client',
        text: 'The `cause` of a `PayoutsError`, from `@temporalio/client`. Only `client` of `connectPayouts` throws them itself.',
        table: explained('class', TEMPORAL_ERRORS),
      },
      {
        title: 'HTTP problems',
        text: '`type` of a [problem document](http.md#routes) ([schema](../schemas/problem.json)).',
        table: table(
          ['type', 'status', 'meaning', 'what to do'],
          PROBLEM_KINDS.map((kind) => {
            const { status, meaning, action } = PROBLEMS[kind];
            return [code(problemType(kind)), `${status}`, meaning, action];
          }),
        ),
      },
      {
        title: 'CLI exit codes',
        table: table(
          ['exit code', 'meaning', 'what to do'],
          codesOf(EXIT_MEANINGS).map((name) => {
            const { meaning, action } = EXIT_MEANINGS[name];
            return [`${EXIT[name]}`, meaning, todo(action)];
          }),
        ),
      },
      {
        title: 'Failures of workflows and messages',
        text: "`type` of the `ApplicationFailure`, in every SDK. A query's message starts with it.",
        table: byHand('Failures of workflows and messages'),
      },
      {
        title: 'Failures of activities',
        text: "`type` of an activity's `ApplicationFailure`, as the Temporal UI shows it. Workflows handle them, so most need nothing.",
        table: explained('type', ACTIVITY_FAILURES),
      },
    ],
  },
  {
    title: 'Search attributes',
    text: 'Saved queries: [the Temporal UI](temporal-ui.md#the-list).',
    table: table(
      ['name', 'type', 'meaning'],
      codesOf(SEARCH_ATTRIBUTE_MEANINGS).map((name) => [
        code(name),
        SEARCH_ATTRIBUTES[name],
        SEARCH_ATTRIBUTE_MEANINGS[name],
      ]),
    ),
  },
  {
    title: 'Memo fields',
    text: 'Memos are encrypted like payloads.',
    table: listed(['field', 'on', 'written by', 'meaning'], MEMO_FIELDS, ({ on, writer, meaning }) => [
      on,
      writer,
      meaning,
    ]),
  },
  {
    title: 'Metrics',
    text: "In Prometheus's text format. No label has an id, or anything that a caller wrote.",
    parts: [
      {
        title: 'Metrics of the API server',
        text: `At \`GET /metrics\`, with the usual \`process_…\` and \`nodejs_…\` ([how to scrape them](observability.md#metrics)). \`route\` is a pattern, or \`none\`. \`result\` is ${NOTIFICATION_RESULTS}.`,
        table: metrics(
          Object.fromEntries(
            Object.values(API_METRICS).map(({ name, unit, labelNames, help, action }) => [
              name,
              { unit, labels: labelNames, meaning: help, action },
            ]),
          ),
        ),
      },
      {
        title: 'Metrics of a worker',
        text: "At `PAYOUTS_METRICS_LISTEN`. An application's gauges come from its [lease owner](observability.md#metrics).",
        table: byHand('Metrics of a worker'),
      },
      {
        title: 'Metrics of the Temporal SDK',
        text: "Served beside the worker's; [dashboards](observability.md#dashboards) show more of them.",
        table: metrics(
          Object.fromEntries(Object.entries(SDK_METRICS).filter(([, { action }]) => todo(action) !== '')),
        ),
      },
    ],
  },
  {
    title: 'Log events',
    text: 'The field `event` of [the log](observability.md#the-log). The message says it in words.',
    table: listed(['event', 'level', 'fields'], BUSINESS_EVENTS, ({ level, fields }) => [
      code(level),
      fields.map(code).join(', '),
    ]),
  },
];

export function referencePage(): string {
  const contents = SECTIONS.map(({ title }) => `- [${title}](#${anchorOf(title)})`).join('\n');
  return `${[HEAD, contents, ...SECTIONS.map((section) => written(section, '##'))].join('\n\n')}\n`;
}

function written({ title, text, table: rows, parts = [] }: Section, level: string): string {
  return [`${level} ${title}`, text, rows, ...parts.map((part) => written(part, `${level}#`))]
    .filter((block) => block !== undefined)
    .join('\n\n');
}

/** The table below a heading, as it is on the page. A test compares its names with the code. */
function byHand(title: string): string {
  const page = readFileSync(REFERENCE_PAGE, 'utf8');
  const section = page.slice(page.search(new RegExp(`^#+ ${title}$`, 'm')));
  return /(?:^\|.*\n)+/m.exec(section)?.[0].trimEnd() ?? '';
}

/** An empty cell where there is nothing to do. */
function todo(action: string): string {
  return action.replace(/^Nothing\. ?/, '');
}

/** A row for each name: the name, then `cells` of what is said of it. */
function listed<T>(
  head: readonly string[],
  rows: Readonly<Record<string, T>>,
  cells: (row: T) => readonly string[],
): string {
  return table(
    head,
    Object.entries(rows).map(([name, row]) => [code(name), ...cells(row)]),
  );
}

function explained(name: string, rows: Readonly<Record<string, Explained>>): string {
  return listed([name, 'meaning', 'what to do'], rows, ({ meaning, action }) => [meaning, todo(action)]);
}

function metrics(
  rows: Readonly<Record<string, Explained & { unit: string; labels: readonly string[] }>>,
): string {
  return listed(['metric', 'unit', 'labels', 'meaning', 'what to do'], rows, (metric) => [
    metric.unit,
    metric.labels.map(code).join(', '),
    metric.meaning,
    todo(metric.action),
  ]);
}
