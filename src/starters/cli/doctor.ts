/**
 * `doctor`: checks everything that payouts need, and which open points of the specification hold. Each check says what it
 * found and what to do. What this machine cannot determine is `unknown`.
 */
import { ConfigError, type Environment } from '../../config/environment.ts';
import type { ProbeResult, ProbeTarget } from '../../contract/workflows.ts';
import { OPEN_POINTS, type ProbeFinding } from '../../domain/open-points.ts';
import { messageOf } from '../../temporal/client-errors.ts';
import { type Answer, EXIT } from './answer.ts';
import { type Check, type ClockOffsets, compareClocks, problem, type Verdict } from './doctor/check.ts';
import { checkKeys } from './doctor/keys.ts';
import { checkPriorities } from './doctor/priorities.ts';
import { checkProvider, checkTokens, providerNotChecked } from './doctor/provider.ts';
import { checkNamespace, checkSearchAttributes, checkVersion } from './doctor/temporal.ts';
import { checkVersions } from './doctor/versions.ts';
import { checkLease, checkTaskQueues } from './doctor/workers.ts';
import { checkReconciliation, checkWorkflowTasks } from './doctor/workflows.ts';
import type { Session } from './session.ts';
import { colors, grid, wrap } from './text.ts';

export interface DoctorOptions {
  app: string;
  target: ProbeTarget;
  openId?: string | undefined;
}

export async function doctor(session: Session, { app, target, openId }: DoctorOptions): Promise<Answer> {
  const checks: Check[] = [];
  const clocks: ClockOffsets = {};
  const obstacle = await examine(session, app, checks, clocks);
  if (obstacle !== undefined) return report([...checks, providerNotChecked(obstacle), compareClocks(clocks)]);
  const { check, probe } = await checkProvider(session, app, target, openId);
  return report([...checks, check, compareClocks({ ...clocks, provider: probe?.clock })], probe);
}

/** The answer if there is no connection to Temporal. */
export function connectionReport(error: unknown, variables: Environment): Answer {
  if (error instanceof ConfigError)
    return report([problem('encryption keys', error.message, 'docs/operations.md, Encryption keys')]);
  const address = variables['TEMPORAL_ADDRESS'] || 'the default address';
  const advice = 'start Temporal, or correct TEMPORAL_ADDRESS (or TEMPORAL_PROFILE)';
  return report([problem('Temporal', `no response from ${address}: ${messageOf(error)}`, advice)]);
}

/** Checks all that a call to the provider needs. Resolves with the reason why such a call would only wait. */
async function examine(
  session: Session,
  app: string,
  checks: Check[],
  clocks: ClockOffsets,
): Promise<string | undefined> {
  const environment = session.environment ?? 'test';
  checks.push(await checkVersion(session));
  const namespace = await checkNamespace(session, environment);
  checks.push(namespace.check);
  if (namespace.missing) return 'the namespace does not exist';
  checks.push(await checkSearchAttributes(session), await checkWorkflowTasks(session, environment));
  const priorities = await checkPriorities(session);
  clocks.temporal = priorities.clock;
  const queues = await checkTaskQueues(session, environment, app);
  checks.push(priorities.check, ...queues, await checkVersions(session));
  if (queues.some(({ verdict }) => verdict !== 'ok')) return 'no worker can call it';
  const keys = await checkKeys(session);
  clocks.worker = keys.clock;
  checks.push(keys.check);
  if (keys.check.verdict !== 'ok') return 'the encryption keys do not match';
  checks.push(await checkLease(session, environment, app), await checkReconciliation(session, environment));
  const tokens = await checkTokens(session, app);
  checks.push(tokens.check);
  return tokens.hasApplicationToken ? undefined : 'there is no application token';
}

function report(checks: readonly Check[], probe?: ProbeResult): Answer {
  const findings = probe?.findings ?? [];
  const healthy =
    !checks.some(({ verdict }) => verdict === 'problem') &&
    !findings.some(({ verdict }) => verdict === 'does not hold');
  const points = findings.map((finding) => ({ ...pointOf(finding), ...finding }));
  return {
    json: { healthy, checks, openPoints: points },
    text: [checks.map(line).join('\n'), table(findings)].filter((part) => part !== '').join('\n\n'),
    exitCode: healthy ? EXIT.ok : EXIT.doctorFoundProblems,
  };
}

function pointOf(finding: ProbeFinding) {
  return OPEN_POINTS.find(({ id }) => id === finding.id);
}

const MARKS: Record<Verdict, string> = {
  ok: colors.green('ok  '),
  problem: colors.red('FAIL'),
  unknown: colors.yellow('?   '),
};

function line({ check, verdict, detail, advice }: Check): string {
  return `${MARKS[verdict]} ${check}: ${detail}${advice === undefined ? '' : `\n       ${advice}`}`;
}

function table(findings: readonly ProbeFinding[]): string {
  if (findings.length === 0) return '';
  const probed = findings.filter(({ verdict }) => verdict !== 'not probed');
  const others = findings.filter((finding) => !probed.includes(finding));
  const rows = probed.map((finding) => {
    const setting = (pointOf(finding)?.setting ?? '').replaceAll('`', '');
    return [finding.id, finding.verdict, wrap(finding.detail), wrap(setting)];
  });
  return [
    'What the specification leaves open (docs/open-points.md):',
    ...(rows.length > 0 ? [grid(['point', 'verdict', 'found', 'setting'], rows)] : []),
    wrap(`not probed (--json says why): ${others.map(({ id }) => id).join(', ')}`, 110),
  ].join('\n');
}
