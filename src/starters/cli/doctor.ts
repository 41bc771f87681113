/**
 * `doctor`: is everything there that payouts need, and which of the specification's open points hold here? Each check
 * says what it saw and what to do; what cannot be told from here is `unknown`, never guessed.
 */

import { ConfigError } from '../../config/environment.ts';
import type { ProbeResult, ProbeTarget } from '../../contract/workflows.ts';
import { OPEN_POINTS, type ProbeFinding } from '../../domain/open-points.ts';
import { type Answer, EXIT } from './answer.ts';
import { colours } from './colours.ts';
import { type Check, isWell, messageOf, problem, type Verdict } from './doctor/check.ts';
import { type ClockReadings, clocksAgree } from './doctor/clocks.ts';
import { engineVersion, namespaceKept, searchAttributes } from './doctor/engine.ts';
import { keysAgree } from './doctor/keys.ts';
import { priorities } from './doctor/priorities.ts';
import { reconciliationRuns } from './doctor/schedules.ts';
import { notAsked, serviceAnswers, tokenStates } from './doctor/service.ts';
import { leaseOwned, queuesServed } from './doctor/workers.ts';
import { workflowTasksGoOn } from './doctor/workflow-tasks.ts';
import type { Session } from './session.ts';
import { grid, wrap } from './text.ts';

export interface DoctorOptions {
  app: string;
  question: ProbeTarget;
  openId?: string | undefined;
}

interface Examined {
  checks: Check[];
  probed?: ProbeResult | undefined;
}

export async function doctor(session: Session, options: DoctorOptions): Promise<Answer> {
  return report(await examined(session, options));
}

/** Nothing else can be looked at without the engine. */
export function withoutEngine(error: unknown): Answer {
  if (error instanceof ConfigError)
    return report({ checks: [problem('keys', error.message, 'docs/operations.md, Keys')] });
  const address = process.env['TEMPORAL_ADDRESS'] || 'the default address';
  const advice = 'is it running, and is TEMPORAL_ADDRESS (or TEMPORAL_PROFILE) right?';
  return report({ checks: [problem('engine', `no answer at ${address}: ${messageOf(error)}`, advice)] });
}

async function examined(session: Session, { app, question, openId }: DoctorOptions): Promise<Examined> {
  const checks: Check[] = [];
  const clocks: ClockReadings = {};
  const wanting = await foundWanting(session, app, checks, clocks);
  if (wanting !== undefined) return { checks: [...checks, notAsked(wanting), clocksAgree(clocks)] };
  const { check, probed } = await serviceAnswers(session, app, question, openId);
  clocks.service = probed?.clock;
  return { checks: [...checks, check, clocksAgree(clocks)], probed };
}

/** Everything on the way to the payments service. Answers why it need not be asked: the question would only wait. */
async function foundWanting(
  session: Session,
  app: string,
  checks: Check[],
  clocks: ClockReadings,
): Promise<string | undefined> {
  const environment = session.environment ?? 'test';
  checks.push(await engineVersion(session));
  const namespace = await namespaceKept(session, environment);
  checks.push(namespace.check);
  if (namespace.missing) return 'there is no namespace';
  checks.push(await searchAttributes(session), await workflowTasksGoOn(session, environment));
  const priority = await priorities(session);
  clocks.engine = priority.clock;
  const queues = await queuesServed(session, environment, app);
  checks.push(priority.check, ...queues);
  if (!queues.every(isWell)) return 'no worker could ask it';
  const keys = await keysAgree(session);
  clocks.worker = keys.clock;
  checks.push(keys.check);
  if (!isWell(keys.check)) return 'its answer could not be read';
  checks.push(await leaseOwned(session, environment, app), await reconciliationRuns(session, environment));
  const tokens = await tokenStates(session, app);
  checks.push(tokens.check);
  return tokens.applicationHasNone ? 'there is no token' : undefined;
}

function report({ checks, probed }: Examined): Answer {
  const findings = probed?.findings ?? [];
  const healthy =
    !checks.some(({ verdict }) => verdict === 'problem') &&
    !findings.some(({ verdict }) => verdict === 'does not hold');
  return {
    json: { healthy, checks, openPoints: findings.map(withPoint) },
    text: [checks.map(line).join('\n'), table(findings)].filter((part) => part !== '').join('\n\n'),
    exitCode: healthy ? EXIT.ok : EXIT.doctorFoundProblems,
  };
}

function withPoint(finding: ProbeFinding) {
  return { ...OPEN_POINTS.find(({ id }) => id === finding.id), ...finding };
}

const MARKS: Record<Verdict, string> = {
  ok: colours.green('ok  '),
  problem: colours.red('BAD '),
  unknown: colours.yellow('?   '),
};

function line({ check, verdict, detail, advice }: Check): string {
  return `${MARKS[verdict]} ${check}: ${detail}${advice === undefined ? '' : `\n       ${advice}`}`;
}

function table(findings: readonly ProbeFinding[]): string {
  if (findings.length === 0) return '';
  const rows = findings.map((finding) => {
    const { setting } = { setting: '', ...OPEN_POINTS.find(({ id }) => id === finding.id) };
    return [finding.id, finding.verdict, wrap(finding.detail), wrap(setting.replaceAll('`', ''))];
  });
  return `What the specification leaves open (docs/open-points.md):\n${grid(['point', 'verdict', 'seen', 'setting'], rows)}`;
}
