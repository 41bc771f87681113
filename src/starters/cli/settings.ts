/** `settings`: shows and changes what all processes of an application share. */
import type { Command } from '@commander-js/extra-typings';
import type { ListedSettings } from '../../client/shared-settings.ts';
import type { ApprovalsFile } from '../../config/callers.ts';
import type { ApprovalPolicy } from '../../contract/rate-limit.ts';
import { NO_APPROVAL_POLICY } from '../../domain/permissions.ts';
import { ANY_APP, confirmed, invalid, quick, REASON, time, YES } from './command.ts';
import { EXIT, type Output, UsageError } from './output.ts';
import type { Session } from './session.ts';
import { colors, grid, wrap } from './text.ts';

export const MISSING =
  'missing: no create call is sent. Set them: settings --approvals FILE|none --recovered-at never --by NAME --reason TEXT';
export const FAILED_OVER =
  'from before a failover of the namespace: no create call is sent. Set the time: settings --recovered-at TIME --by NAME --reason TEXT';
const NONE_YET =
  'Temporal lists no such application: start a worker and repeat, or add --app NAME --app-id ID';
const BOTH =
  'an application has no settings yet: give both --approvals and --recovered-at (never, unless Temporal has lost something: docs/operations.md, Shared settings)';

interface Signature {
  by: string;
  reason: string;
}

interface Scope {
  app?: string | undefined;
  appId?: string | undefined;
  first?: true | undefined;
  /** ISO 8601, or `now`; null: never. Undefined: stays as it is. */
  recoveredAt?: string | null | undefined;
}

interface Options extends Scope, Partial<Signature> {
  /** A file, or `none`. */
  approvals?: string | undefined;
}

interface Change extends Scope, Signature {
  /** Null: no approvals. Undefined: they stay as they are. */
  approvals: ApprovalsFile | null | undefined;
}

export function settingsCommand(program: Command): void {
  program
    .command('settings')
    .description('show the settings that all processes share, or change them')
    .addOption(ANY_APP)
    .option('--app-id <id>', 'with --app: also if Temporal does not list it')
    .option('--first', 'with --app-id: change nothing if there are settings')
    .option('--approvals <file>', 'which payouts require an approval; none: only the request decides')
    .option('--recovered-at <time>', 'when Temporal last lost something: a time, now, or never', recoveryTime)
    .option('--by <name>', 'who changes them')
    .addOption(REASON)
    .addOption(YES)
    .action(
      quick(async ({ yes, ...options }) => {
        const { app, appId, first, approvals, recoveredAt } = options;
        if (appId !== undefined && app === undefined) throw new UsageError('--app-id requires --app');
        if (first && appId === undefined) throw new UsageError('--first requires --app-id');
        const signed = signatureOf(options);
        if (!signed) return async ({ sharedSettings }) => settingsOutput(await sharedSettings.list(app));
        const policy = approvals === undefined ? undefined : await approvalsOf(approvals);
        const change = { app, appId, first, recoveredAt, approvals: policy, ...signed };
        const text = `change the shared settings of ${app ?? 'all applications'}`;
        return confirmed({ yes }, text, (session) => changed(session, change));
      }),
    );
}

/** Who changes the settings, and why. Undefined if they are only read. */
function signatureOf({ appId, approvals, recoveredAt, by, reason }: Options): Signature | undefined {
  if (approvals !== undefined || recoveredAt !== undefined) {
    if (by !== undefined && reason !== undefined) return { by, reason };
    throw new UsageError('--by and --reason must say who changes the settings, and why');
  }
  if (by === undefined && reason === undefined && appId === undefined) return undefined;
  throw new UsageError('give --approvals FILE or none, or --recovered-at TIME, now or never');
}

/** Null: no payout requires an approval unless its request says so. */
async function approvalsOf(file: string): Promise<ApprovalsFile | null> {
  return file === 'none' ? null : (await import('./files.ts')).approvalsOf(file);
}

function recoveryTime(text: string): string | null {
  if (text === 'never') return null;
  if (text === 'now') return text;
  const at = time(text);
  if (Date.parse(at) > Date.now())
    throw invalid('must not be in the future: every payout would confirm first');
  return at;
}

async function changed({ sharedSettings }: Session, change: Change): Promise<Output> {
  const { app, appId, first, by, reason, recoveredAt, approvals } = change;
  const changeOf = (name: string) => ({ by, reason, recoveredAt, approvals: policyOf(approvals, name) });
  const { IncompleteSettingsError } = await import('../../client/shared-settings.ts');
  try {
    if (app !== undefined && appId !== undefined)
      return settingsOutput([await sharedSettings.changeOne(app, appId, changeOf(app), first)]);
    const apps = (await sharedSettings.list(app)).map((one) => one.app);
    if (apps.length === 0) throw new UsageError(NONE_YET);
    const unknown = Object.keys(approvals?.applications ?? {}).filter((name) => !apps.includes(name));
    if (app === undefined && unknown.length > 0)
      throw new UsageError(`--approvals: Temporal lists no application ${unknown.join(', ')}`);
    return settingsOutput(await sharedSettings.change(changeOf, { app }));
  } catch (error) {
    if (error instanceof IncompleteSettingsError) throw new UsageError(BOTH);
    throw error;
  }
}

/** Undefined: as before. */
function policyOf(approvals: ApprovalsFile | null | undefined, app: string): ApprovalPolicy | undefined {
  if (!approvals) return approvals === null ? NO_APPROVAL_POLICY : undefined;
  const above = new Map(Object.entries(approvals.applications)).get(app);
  return { ...(above && { above }), callers: approvals.callers };
}

function settingsOutput(found: ListedSettings[]): Output {
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
