/** The search attributes for operators' filters. They never contain personal data. */
import type { Client } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes.js';
import type { NativeConnection } from '@temporalio/worker';
import { grpcStatusOf } from './client-errors.ts';
import { TemporalSetupError } from './connection.ts';

export const SEARCH_ATTRIBUTES = {
  PayoutPhase: 'Keyword',
  PayoutOutcome: 'Keyword',
  PayoutApp: 'Keyword',
  PayoutOrderId: 'Keyword',
  PayoutAuditStatus: 'Keyword',
  PayoutPair: 'Keyword',
  PayoutNeedsAttention: 'Bool',
  PayoutReasons: 'KeywordList',
  PayoutKeys: 'KeywordList',
  PayoutStartedAt: 'Datetime',
} as const;

/** Temporal's numeric codes of the types. */
const ENCODED = {
  Keyword: encodeSearchAttributeIndexedValueType(SearchAttributeType.KEYWORD) ?? 0,
  KeywordList: encodeSearchAttributeIndexedValueType(SearchAttributeType.KEYWORD_LIST) ?? 0,
  Bool: encodeSearchAttributeIndexedValueType(SearchAttributeType.BOOL) ?? 0,
  Datetime: encodeSearchAttributeIndexedValueType(SearchAttributeType.DATETIME) ?? 0,
};

type Name = keyof typeof SEARCH_ATTRIBUTES;
type Operator = Pick<NativeConnection, 'operatorService'>;

export async function missingSearchAttributes(
  { operatorService }: Operator,
  namespace: string,
): Promise<Name[]> {
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  return Object.keys(SEARCH_ATTRIBUTES).filter((name): name is Name => !(name in (customAttributes ?? {})));
}

/** The command that creates the namespace. */
export function namespaceCommand(namespace: string): string {
  return `temporal operator namespace create --retention 90d --namespace ${namespace}`;
}

/** The command that registers the attributes, for a process without permission. */
export function registrationCommand(names: readonly Name[], namespace: string): string {
  const each = names.map((name) => `--name ${name} --type ${SEARCH_ATTRIBUTES[name]}`).join(' ');
  return `temporal operator search-attribute create --namespace ${namespace} ${each}`;
}

/** Registers missing attributes. Where this process cannot, throws `TemporalSetupError` with the exact command. */
export async function registerSearchAttributes(connection: Operator, namespace: string): Promise<void> {
  const missing = await missingSearchAttributes(connection, namespace).catch((error: unknown) => {
    if (grpcStatusOf(error) !== 'NOT_FOUND') throw error;
    throw new TemporalSetupError(
      `Temporal has no namespace ${namespace}; set TEMPORAL_NAMESPACE, or run:\n  ${namespaceCommand(namespace)}`,
    );
  });
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(missing.map((name) => [name, ENCODED[SEARCH_ATTRIBUTES[name]]])),
    });
  } catch {
    // Another worker may have registered them at the same time.
    if ((await missingSearchAttributes(connection, namespace)).length === 0) return;
    throw new TemporalSetupError(
      `search attributes are missing, and this process is not permitted to add them; run:\n  ${registrationCommand(missing, namespace)}`,
    );
  }
}

/** The search attributes that starters set or read. Workflows set the others. */
export const APP = defineSearchAttributeKey('PayoutApp', SearchAttributeType.KEYWORD);
export const PHASE = defineSearchAttributeKey('PayoutPhase', SearchAttributeType.KEYWORD);
/** Keyed hashes. Absent if the program that started it has no search keys. */
export const SEARCH_KEYS = defineSearchAttributeKey('PayoutKeys', SearchAttributeType.KEYWORD_LIST);
/** Temporal's own start time is that of the latest run. Absent if another program started the workflow. */
export const STARTED_AT = defineSearchAttributeKey('PayoutStartedAt', SearchAttributeType.DATETIME);
/** Set by the workflow; absent if the attention flag has never been set. */
export const NEEDS_ATTENTION = defineSearchAttributeKey('PayoutNeedsAttention', SearchAttributeType.BOOL);

/** Of a namespace that exists only once. */
export const NEVER_FAILS_OVER = '0';

/** Another value after each failover. */
export async function failoverVersionOf({ workflowService, options }: Client): Promise<string> {
  const { failoverVersion } = await workflowService.describeNamespace({ namespace: options.namespace });
  return String(failoverVersion ?? NEVER_FAILS_OVER);
}
