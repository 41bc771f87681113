/**
 * `doctor`: checks everything that payouts need, and which open points of the specification hold. Each check says what it
 * found and what to do. What this machine cannot determine is `unknown`.
 */
import { ConfigError } from '../../config/environment.ts';
import { reconciliationId } from '../../contract/ids.ts';
import { OPEN_POINTS, type ProbeFinding } from '../../contract/open-points.ts';
import type { ProbeResult, ProbeTarget } from '../../contract/workflows.ts';
import { messageOf } from '../../temporal/client-errors.ts';
import {
  CannotGoOn,
  type Check,
  Checks,
  type ClockOffsets,
  compareClocks,
  problem,
  TEMPORAL,
  type Verdict,
} from './doctor/checks.ts';
import { checkKeys } from './doctor/keys.ts';
import {
  checkProvider,
  checkTokens,
  PROVIDER_CHECK,
  providerNotChecked,
  rateLimitUsedUp,
} from './doctor/provider.ts';
import {
  checkNamespace,
  checkPriorities,
  checkReconciliation,
  checkSearchAttributes,
  checkVersion,
  checkWorkflowTasks,
} from './doctor/temporal.ts';
import {
  checkLease,
  checkPause,
  checkSharedSettings,
  checkTaskQueues,
  checkVersions,
} from './doctor/workers.ts';
import { EXIT, type Output } from './output.ts';
import { Session } from './session.ts';
import { colors, grid, wrap } from './text.ts';

export interface DoctorOptions {
  app: string;
  target: ProbeTarget;
  openId?: string | undefined;
}

const SECONDS = 1_000;
/** Calls that Temporal answers at once, even on a busy machine. */
const TEMPORAL_ONLY = { ms: 10 * SECONDS };
/** Describes many workflows, or waits for Temporal. */
const MANY_CALLS = { ms: 20 * SECONDS };
const READ_LOG = "read the workers' log: they may be overloaded, or stuck";
/** Waits for a moment in which nothing owns the lease, or has a token. */
const WORKER = { ms: 20 * SECONDS, adviceIfLate: READ_LOG };
/** A worker that answers nothing is reported after 30 s. */
const KEYS = { ms: 40 * SECONDS, adviceIfLate: READ_LOG };
const PROVIDER = {
  ms: 40 * SECONDS,
  adviceIfLate:
    'the provider may not answer (docs/alerts.md, PayoutsProviderUnreachable), or the call may wait for its turn under the rate limit (PayoutsCallsWait)',
};

export async function doctor({ json, ...given }: Session, options: DoctorOptions): Promise<Output> {
  const environment = given.environment ?? 'test';
  const show = (check: Check) => void (json || process.stdout.write(`${line(check)}\n`));
  const checks = new Checks(new Session({ ...given, environment }), show);
  const clocks: ClockOffsets = {};
  let probe: ProbeResult | undefined;
  try {
    await examine(environment, options.app, checks, clocks);
    probe = await examineProvider(options, checks);
  } catch (error) {
    if (!(error instanceof CannotGoOn)) throw error;
    if (!checks.all.some(({ check }) => check === PROVIDER_CHECK))
      checks.add(providerNotChecked(error.message));
  }
  checks.add(compareClocks({ ...clocks, provider: probe?.clock }));
  const output = report(checks.all, probe);
  if (json) return output;
  const rest = table(probe?.findings ?? []);
  if (rest !== '') process.stdout.write(`\n${rest}\n`);
  return { ...output, isPrinted: true };
}

/** The output if there is no connection to Temporal. */
export function connectionReport(error: unknown): Output {
  if (error instanceof ConfigError)
    return report([problem('encryption keys', error.message, 'docs/operations.md, Encryption keys')]);
  const address = process.env['TEMPORAL_ADDRESS'] || 'the default address';
  const advice = 'start Temporal, or correct TEMPORAL_ADDRESS (or TEMPORAL_PROFILE)';
  return report([problem('Temporal', `no response from ${address}: ${messageOf(error)}`, advice)]);
}

/** Checks all that a call to the provider needs. Throws `CannotGoOn` if such a call would only wait. */
async function examine(
  environment: string,
  app: string,
  checks: Checks,
  clocks: ClockOffsets,
): Promise<void> {
  const temporal = await checks.run(TEMPORAL, TEMPORAL_ONLY, async (session) => ({
    version: await checkVersion(session),
    namespace: await checkNamespace(session, environment),
  }));
  checks.add(temporal.version, temporal.namespace.check);
  if (temporal.namespace.missing) throw new CannotGoOn('the namespace does not exist');
  const registers = 'start a worker: it registers missing ones, or prints the command and exits';
  await checks.check('search attributes', { ...TEMPORAL_ONLY, advice: registers }, checkSearchAttributes);
  const flagged = { ...MANY_CALLS, advice: 'payouts list --attention' };
  await checks.check('workflow tasks', flagged, (session) => checkWorkflowTasks(session, environment));
  const priorities = await checks.run('priorities', MANY_CALLS, checkPriorities);
  clocks.temporal = priorities.clock;
  checks.add(priorities.check);
  await examineWorkers(environment, app, checks, clocks);
}

async function examineWorkers(
  environment: string,
  app: string,
  checks: Checks,
  clocks: ClockOffsets,
): Promise<void> {
  const queues = await checks.run('workers', MANY_CALLS, (session) =>
    checkTaskQueues(session, environment, app),
  );
  checks.add(...queues);
  const versions = { ...MANY_CALLS, advice: 'temporal worker deployment list' };
  await checks.check('worker versions', versions, checkVersions);
  if (queues.some(({ verdict }) => verdict !== 'ok')) throw new CannotGoOn('no worker can call it');
  const keys = await checks.run('encryption keys', KEYS, checkKeys);
  clocks.worker = keys.clock;
  checks.add(keys.check);
  if (keys.check.verdict !== 'ok') throw new CannotGoOn('the encryption keys do not match');
  checks.add(
    await checks.run('rate-limit lease', WORKER, (session) => checkLease(session, environment, app)),
  );
  const settings = { ...WORKER, advice: 'payouts settings' };
  await checks.check('shared settings', settings, (session) => checkSharedSettings(session, app));
  const pause = { ...TEMPORAL_ONLY, advice: 'fix the problems above, and run doctor again' };
  await checks.check('create calls', pause, (session) => checkPause(session, app));
  const schedule = {
    ...TEMPORAL_ONLY,
    advice: `temporal schedule describe --schedule-id ${reconciliationId(environment)}`,
  };
  await checks.check('reconciliation', schedule, (session) => checkReconciliation(session, environment));
  const tokens = await checks.run('tokens', WORKER, (session) => checkTokens(session, app));
  checks.add(tokens.check);
  if (!tokens.hasApplicationToken) throw new CannotGoOn('there is no application token');
}

async function examineProvider(
  { app, target, openId }: DoctorOptions,
  checks: Checks,
): Promise<ProbeResult | undefined> {
  const { check, probe } = await checks.run(PROVIDER_CHECK, PROVIDER, (session) =>
    checkProvider(session, app, target, openId),
  );
  const limit = probe && rateLimitUsedUp(probe);
  checks.add(check, ...(limit ? [limit] : []));
  return probe;
}

function report(checks: readonly Check[], probe?: ProbeResult): Output {
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
    return [finding.id, finding.verdict, wrap(finding.detail), wrap(pointOf(finding)?.setting ?? '')];
  });
  return [
    'What the specification leaves open (docs/open-points.md):',
    ...(rows.length > 0 ? [grid(['point', 'verdict', 'found', 'setting'], rows)] : []),
    wrap(`not probed (--json says why): ${others.map(({ id }) => id).join(', ')}`, 110),
  ].join('\n');
}
