/** The local storage of an operator's browser: our columns, our saved filters and the codec server. */
import { SAVED_FILTERS } from './saved-filters.ts';

const COLUMNS = ['Status', 'Workflow ID', 'PayoutPhase', 'PayoutOutcome', 'PayoutNeedsAttention', 'Start'];

/** The UI's own keys in local storage (UI 2.42). */
export function operatorsStorage(namespace: string, codecUrl: string): Record<string, string> {
  const columns = COLUMNS.map((label) => ({ label }));
  const views = SAVED_FILTERS.map(({ name, query }, at) => ({ id: `${at}`, name, query, type: 'user' }));
  return {
    'namespace-workflow-table-columns': JSON.stringify({ [namespace]: columns }),
    'saved-workflow-queries': JSON.stringify({ [namespace]: views }),
    overrideRemoteCodecConfiguration: 'true',
    endpoint: JSON.stringify(codecUrl),
    includeCredentials: 'true',
  };
}
