/**
 * `doctor`: checks everything that payouts need, and which open points of the specification hold. Each check says what it
 * found and what to do. What this machine cannot determine is `unknown`.
 */
import { ConfigError } from '../../config/environment.ts';
import { encryptionKeys } from '../../config/keys.ts';
import { EXIT } from '../../contract/errors.ts';
import { reconciliationId } from '../../contract/ids.ts';
import { OPEN_POINTS, type ProbeFinding } from '../../contract/open-points.ts';
import type { ProbeResult } from '../../contract/workflows.ts';
import { messageOf } from '../../temporal/client-errors.ts';
import {
  AGAIN,
  CannotGoOn,
  Checks,
  compareClocks,
  type Finding,
  problem,
  TEMPORAL,
  unknown,
  type Verdict,
} from './doctor/checks.ts';
import { checkKeyAge } from './doctor/key-age.ts';
import { checkKeys } from './doctor/keys.ts';
import { checkProvider, checkTokens, type DoctorOptions, RATE_LIMITED } from './doctor/provider.ts';
import {
  checkNamespace,
  checkPriorities,
  checkReconciliation,
  checkSearchAttributes,
  checkVersion,
  checkWorkflowTasks,
} from './doctor/temporal.ts';
import {
  checkCallQueue,
  checkLease,
  checkPause,
  checkSharedSettings,
  checkVersions,
  checkWorker,
} from './doctor/workers.ts';
import type { Output } from './output.ts';
import { type Session, sessionOf } from './session.ts';
import { colors, lines, table, wrap } from './text.ts';

const SECONDS = 1_000;
/** Calls that Temporal responds to immediately, even on a busy machine. */
const TEMPORAL_ONLY = { ms: 10 * SECONDS, advice: AGAIN };
/** Describes many workflows, or waits for Temporal. */
const MANY_CALLS = { ms: 20 * SECONDS, advice: AGAIN };
const READ_LOG = "read the workers' log: they may be overloaded, or stuck";
/** Waits for a moment in which nothing owns the lease, or has a token. */
const WORKER = { ms: 20 * SECONDS, advice: AGAIN, adviceIfLate: READ_LOG };
/** A worker that does not respond is reported after 30 s. */
const KEYS = { ...WORKER, ms: 40 * SECONDS };
const PROVIDER = {
  ms: 40 * SECONDS,
  advice: AGAIN,
  adviceIfLate:
    'the provider may not respond (docs/alerts.md, PayoutsProviderUnreachable), or the call may wait for its turn under the rate limit (PayoutsCallsWait)',
};

export async function doctor({ json, ...given }: Session, options: DoctorOptions): Promise<Output> {
  const environment = given.environment ?? 'test';
  const session = sessionOf({ ...given, environment, json });
  const checks = new Checks(session, (check, found) => {
    if (!json) process.stdout.write(`${line(check, found)}\n`);
  });
  let probe: ProbeResult | undefined;
  try {
    await examine(environment, options.app, checks);
    const found = await checks.run('provider', PROVIDER, (one) => checkProvider(one, options));
    probe = 'probe' in found ? found.probe : undefined;
    if (probe?.limited) checks.add('rate limit', unknown(limitedText(probe.limited), RATE_LIMITED));
  } catch (error) {
    if (!(error instanceof CannotGoOn)) throw error;
    if (!checks.all.some(({ check }) => check === 'provider'))
      checks.add('provider', unknown(`not checked: ${error.message}`, AGAIN));
  }
  const clockOf = (name: string) => checks.all.find(({ check }) => check === name)?.found.clock;
  const offsets = {
    'Temporal against this machine': clockOf('priorities'),
    'worker against Temporal': clockOf('encryption keys'),
    'provider against worker': probe?.clock,
  };
  checks.add('clocks', compareClocks(offsets));
  const output = report(checks.all, probe);
  if (json) return output;
  const rest = openPointsText(probe?.findings ?? []);
  if (rest !== '') process.stdout.write(`\n${rest}\n`);
  return { ...output, isPrinted: true };
}

function limitedText(probes: readonly string[]): string {
  const names = `${probes.length === 1 ? 'probe' : 'probes'} ${probes.join(', ')}`;
  return `the provider returned 429 to the ${names}: its rate limit is used up`;
}

/** The output if there is no connection to Temporal. */
export function connectionReport(error: unknown): Output {
  if (error instanceof ConfigError) {
    const found = problem(error.message, 'correct the variables that are named (docs/configuration.md)');
    return report([{ check: 'settings', found }]);
  }
  const address = process.env['TEMPORAL_ADDRESS'] || 'the default address';
  const advice = 'start Temporal, or correct TEMPORAL_ADDRESS (or TEMPORAL_PROFILE)';
  return report([
    { check: TEMPORAL, found: problem(`no response from ${address}: ${messageOf(error)}`, advice) },
  ]);
}

/** Checks all that a call to the provider needs. Throws `CannotGoOn` if such a call would only wait. */
async function examine(environment: string, app: string, checks: Checks): Promise<void> {
  const temporal = await checks.run(TEMPORAL, TEMPORAL_ONLY, async (session) => ({
    ...(await checkVersion(session)),
    namespace: await checkNamespace(session, environment),
  }));
  if ('namespace' in temporal) checks.add('namespace', temporal.namespace);
  const registers = 'start a worker: it registers missing ones, or prints the command and exits';
  await checks.run('search attributes', { ...TEMPORAL_ONLY, advice: registers }, checkSearchAttributes);
  const flagged = { ...MANY_CALLS, advice: 'payouts list --attention' };
  await checks.run('workflow tasks', flagged, (session) => checkWorkflowTasks(session, environment));
  await checks.run('priorities', MANY_CALLS, checkPriorities);
  await examineWorkers(environment, app, checks);
}

async function examineWorkers(environment: string, app: string, checks: Checks): Promise<void> {
  const versions = { ...MANY_CALLS, advice: 'temporal worker deployment list' };
  await checks.run('worker versions', versions, checkVersions);
  await checks.run('worker for workflows', MANY_CALLS, checkWorker);
  await checks.run(`worker for provider calls of ${app}`, MANY_CALLS, (session) =>
    checkCallQueue(session, environment, app),
  );
  await checks.run('encryption keys', KEYS, checkKeys);
  const key = encryptionKeys(process.env).payloads?.current;
  if (key !== undefined && environment !== 'test')
    checks.add('age of the encryption key', checkKeyAge(key, Date.now()));
  await checks.run('rate-limit lease', WORKER, (session) => checkLease(session, environment, app));
  const settings = { ...WORKER, advice: 'payouts settings' };
  await checks.run('shared settings', settings, (session) => checkSharedSettings(session, app));
  await checks.run('create calls', TEMPORAL_ONLY, (session) => checkPause(session, app));
  const schedule = {
    ...TEMPORAL_ONLY,
    advice: `temporal schedule describe --schedule-id ${reconciliationId(environment)}`,
  };
  await checks.run('reconciliation', schedule, (session) => checkReconciliation(session, environment));
  await checks.run('tokens', { ...WORKER, advice: 'payouts tokens' }, (session) => checkTokens(session, app));
}

function report(checks: Checks['all'], probe?: ProbeResult): Output {
  const findings = probe?.findings ?? [];
  const isHealthy =
    !checks.some(({ found }) => found.verdict === 'problem') &&
    !findings.some(({ verdict }) => verdict === 'does not hold');
  return {
    json: {
      healthy: isHealthy,
      checks: checks.map(({ check, found: { verdict, detail, advice } }) => ({
        check,
        verdict,
        detail,
        advice,
      })),
      openPoints: findings.map((finding) => ({ ...pointOf(finding), ...finding })),
    },
    text: checks.map(({ check, found }) => line(check, found)).join('\n'),
    exitCode: isHealthy ? EXIT.ok : EXIT.doctorFoundProblems,
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

function line(check: string, { verdict, detail, advice }: Finding): string {
  return `${MARKS[verdict]} ${check}: ${detail}${advice === undefined ? '' : `\n       ${advice}`}`;
}

function openPointsText(findings: readonly ProbeFinding[]): string {
  if (findings.length === 0) return '';
  const isProbed = ({ verdict }: ProbeFinding) => verdict !== 'not probed';
  const others = findings.filter((finding) => !isProbed(finding)).map(({ id }) => id);
  return lines(
    'What the specification leaves open (docs/open-points.md):',
    table(findings.filter(isProbed), {
      point: ({ id }) => id,
      verdict: ({ verdict }) => verdict,
      found: ({ detail }) => wrap(detail),
      setting: (finding) => wrap(pointOf(finding)?.setting ?? ''),
    }),
    wrap(`not probed (--json says why): ${others.join(', ')}`, 110),
  );
}
