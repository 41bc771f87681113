/** `settings`: shows and changes what all processes of an application share. */
import {
  IncompleteSettingsError,
  type ListedSettings,
  SharedSettingsOf,
} from '../../client/shared-settings.ts';
import type { ApprovalsFile } from '../../config/cli-config.ts';
import type { ApprovalPolicy } from '../../contract/rate-limit.ts';
import { NO_APPROVAL_POLICY } from '../../domain/permissions.ts';
import { type Answer, EXIT, UsageError } from './answer.ts';
import type { CheckedSettings, SettingsOptions } from './options.ts';
import type { Session } from './session.ts';
import { FAILED_OVER, MISSING } from './settings-texts.ts';
import { colors, grid, wrap } from './text.ts';

const NONE_YET =
  'Temporal lists no such application: start a worker and repeat, or add --app NAME --app-id ID';
const BOTH =
  'an application has no settings yet: give both --approvals and --recovered-at (never, unless Temporal has lost something: docs/operations.md, Shared settings)';

export async function settings(
  { client, environment, withDeadline }: Session,
  { app, appId, first: isFirst }: SettingsOptions,
  change: (CheckedSettings & { file: ApprovalsFile | undefined }) | undefined,
): Promise<Answer> {
  if (environment === undefined) throw new UsageError('PAYMENTS_ENVIRONMENT is missing');
  const known = new SharedSettingsOf(client, environment);
  const apply = async (): Promise<ListedSettings[]> => {
    if (!change) return known.list(app);
    const { by, reason, recoveredAt } = change;
    const changeOf = (name: string) => ({ by, reason, recoveredAt, approvals: policyOf(change, name) });
    if (app !== undefined && appId !== undefined)
      return [await known.changeOne(app, appId, changeOf(app), isFirst)];
    const apps = [...new Set((await known.list(app)).map((one) => one.app))];
    if (apps.length === 0) throw new UsageError(NONE_YET);
    const unknown = Object.keys(change.file?.applications ?? {}).filter((name) => !apps.includes(name));
    if (app === undefined && unknown.length > 0)
      throw new UsageError(`--approvals: Temporal lists no application ${unknown.join(', ')}`);
    return known.change(changeOf, { app });
  };
  try {
    return answer(await withDeadline(apply));
  } catch (error) {
    if (error instanceof IncompleteSettingsError) throw new UsageError(BOTH);
    throw error;
  }
}

/** Undefined: as before. */
function policyOf(
  { approvals, file }: { approvals: string | null | undefined; file: ApprovalsFile | undefined },
  app: string,
): ApprovalPolicy | undefined {
  if (approvals === null) return NO_APPROVAL_POLICY;
  if (!file) return undefined;
  const above = new Map(Object.entries(file.applications)).get(app);
  return { ...(above && { above }), callers: file.callers };
}

function answer(found: ListedSettings[]): Answer {
  const head = ['application', 'version', 'set by', 'Temporal recovered at', 'approvals', 'state'];
  const text = found.length === 0 ? NONE_YET : grid(head, found.map(row));
  return {
    json: found,
    text,
    exitCode: found.length > 0 && found.every(isInForce) ? EXIT.ok : EXIT.unexpected,
  };
}

function isInForce({ shared, hasFailedOver }: ListedSettings): boolean {
  return shared !== null && !hasFailedOver;
}

function row({ app, shared, hasFailedOver }: ListedSettings): string[] {
  if (!shared) return [app, '', '', '', '', colors.red(wrap(MISSING))];
  const { version, by, at, reason, recoveredAt, approvals } = shared;
  const state = hasFailedOver ? colors.red(wrap(FAILED_OVER)) : 'in force';
  return [
    app,
    `${version}`,
    wrap(`${by}, ${at}: ${reason}`),
    recoveredAt ?? 'never',
    approvalsText(approvals),
    state,
  ];
}

function approvalsText({ above, callers }: ApprovalPolicy): string {
  const lines = [...(above ? [['all', above] as const] : []), ...Object.entries(callers)].map(
    ([who, limits]) =>
      `${who}: above ${
        Object.entries(limits)
          .map(([currency, amount]) => `${amount} ${currency}`)
          .join(', ') || '0'
      }`,
  );
  return lines.length === 0 ? 'only by request' : lines.join('\n');
}
