/** `settings`: shows and changes what all processes of an application share. */
import type { Command } from '@commander-js/extra-typings';
import type { ListedSettings } from '../../client/shared-settings.ts';
import type { ApprovalsFile } from '../../config/callers.ts';
import { EXIT } from '../../contract/errors.ts';
import type { ApprovalPolicy } from '../../contract/rate-limit.ts';
import { NO_APPROVAL_POLICY } from '../../domain/permissions.ts';
import { ANY_APP, invalid, quick, REASON, time, YES } from './command.ts';
import { type Output, UsageError } from './output.ts';
import type { Session } from './session.ts';
import { colors, table, wrap } from './text.ts';

export const MISSING =
  'missing: no create call is sent. Set them: settings --approvals FILE|none --recovered-at never --by NAME --reason TEXT';
export const FAILED_OVER =
  'from before a failover of the namespace: no create call is sent. Set the time: settings --recovered-at TIME --by NAME --reason TEXT';
const NONE_YET =
  'Temporal lists no such application: start a worker and repeat, or add --app NAME --app-id ID';

interface Change {
  app?: string | undefined;
  appId?: string | undefined;
  first?: true | undefined;
  /** ISO 8601, `now` or `never`. Undefined: stays as it is. */
  recoveredAt?: string | undefined;
  /** Null: no approvals. Undefined: they stay as they are. */
  approvals: ApprovalsFile | null | undefined;
  by: string;
  reason: string;
}

export function settingsCommand(program: Command): void {
  program
    .command('settings')
    .description('show the settings that all processes share, or change them')
    .addOption(ANY_APP)
    .option('--app-id <id>', 'with --app: even if Temporal does not list it')
    .option('--first', 'with --app-id: change nothing if the application has settings')
    .hook('preAction', (command) => {
      const { app, appId, first } = command.opts();
      if (appId !== undefined && app === undefined) throw new UsageError('--app-id requires --app');
      if (first && appId === undefined) throw new UsageError('--first requires --app-id');
    })
    .option('--approvals <file>', 'which payouts require an approval; none: only the request decides')
    .option(
      '--recovered-at <time>',
      'when Temporal last lost something: a time, now, or never; unchanged: a failover lost nothing',
      recoveryTime,
    )
    .option('--by <name>', 'who changes them')
    .addOption(REASON)
    .addOption(YES)
    .action(
      quick(async (options) => {
        const { app, approvals, recoveredAt, by, reason } = options;
        if (Object.keys(options).every((name) => name === 'app'))
          return async ({ sharedSettings }) => settingsOutput(await sharedSettings.list(app));
        if ((approvals ?? recoveredAt) === undefined)
          throw new UsageError('give --approvals FILE or none, or --recovered-at TIME, now or never');
        if (by === undefined || reason === undefined)
          throw new UsageError('--by and --reason must say who changes the settings, and why');
        const policy = approvals === undefined ? undefined : await approvalsOf(approvals);
        return {
          change: `change the shared settings of ${app ?? 'all applications'}`,
          work: (session) => changed(session, { ...options, approvals: policy, by, reason }),
        };
      }),
    );
}

/** Null: no payout requires an approval unless its request says so. */
async function approvalsOf(file: string): Promise<ApprovalsFile | null> {
  return file === 'none' ? null : (await import('./files.ts')).approvalsOf(file);
}

/** `never` stays text: commander takes the null of a parser for an absent value. */
function recoveryTime(text: string): string {
  if (text === 'never' || text === 'now' || text === 'unchanged') return text;
  const at = time(text);
  if (Date.parse(at) > Date.now())
    throw invalid('must not be in the future: every payout would confirm first');
  return at;
}

async function changed({ sharedSettings }: Session, change: Change): Promise<Output> {
  const { app, appId, first, by, reason, recoveredAt, approvals } = change;
  const recovered = recoveredAt === 'never' ? null : recoveredAt;
  const set = { by, reason, recoveredAt: recovered };
  const changeOf = (name: string) => ({ ...set, approvals: policyOf(approvals, name) });
  const { SettingsChangeError } = await import('../../client/shared-settings.ts');
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
    if (error instanceof SettingsChangeError) throw new UsageError(error.message);
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
  const text = table(
    found,
    {
      application: ({ app }) => app,
      version: ({ shared }) => shared?.version,
      'set by': ({ shared }) => shared && wrap(`${shared.by}, ${shared.at}: ${shared.reason}`),
      'Temporal recovered at': ({ shared }) => shared && (shared.recoveredAt ?? 'never'),
      approvals: ({ shared }) => shared && approvalsText(shared.approvals),
      state: ({ shared, hasFailedOver }) => {
        if (!shared) return colors.red(wrap(MISSING));
        return hasFailedOver ? colors.red(wrap(FAILED_OVER)) : 'in force';
      },
    },
    NONE_YET,
  );
  const isInForce = found.length > 0 && found.every((one) => one.shared && !one.hasFailedOver);
  return { json: found, text, exitCode: isInForce ? EXIT.ok : EXIT.unexpected };
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
