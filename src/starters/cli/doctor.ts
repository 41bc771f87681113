/** `doctor`: is everything there that payouts need, and which of the specification's open points hold here? */
import pc from 'picocolors';
import type { ProbeQuestion } from '../../activities/types.ts';
import { apiTaskQueue, PAYOUTS_TASK_QUEUE } from '../../domain/identity.ts';
import { OPEN_POINTS, type ProbeFinding } from '../../domain/open-points.ts';
import { missingSearchAttributes, registrationCommand } from '../../temporal/search-attributes.ts';
import type { ServiceReads } from '../reads.ts';
import { Tokens } from '../tokens.ts';
import { type Answer, EXIT } from './answer.ts';
import type { Session } from './session.ts';
import { grid } from './text.ts';

/** Temporal's numbers for the two sides of a task queue. */
const WORKFLOW_TASKS = 1;
const ACTIVITY_TASKS = 2;

interface Check {
  check: string;
  ok: boolean;
  detail: string;
  /** What to do when it is not ok. */
  advice?: string;
}

export async function doctor(
  session: Session,
  app: string,
  question: ProbeQuestion,
  openId?: string,
): Promise<Answer> {
  const environment = process.env['PAYMENTS_ENVIRONMENT'] || 'test';
  const checks = [
    await engine(session),
    await searchAttributes(session),
    await served(session, PAYOUTS_TASK_QUEUE, WORKFLOW_TASKS, 'workflows'),
    await served(session, apiTaskQueue(environment, app), ACTIVITY_TASKS, `API calls of ${app}`),
  ];
  const { probe, findings } = await asked(session, checks, (reads) => reads.probe(app, question, openId));
  checks.push(probe, await tokenStates(session, app));
  const healthy =
    checks.every(({ ok }) => ok) && !findings.some(({ verdict }) => verdict === 'does not hold');
  return {
    json: { healthy, checks, openPoints: findings.map(withPoint) },
    text: [checks.map(line).join('\n'), table(findings)].filter((part) => part !== '').join('\n\n'),
    exitCode: healthy ? EXIT.ok : EXIT.doctorFoundProblems,
  };
}

async function engine({ client, namespace, address, soon }: Session): Promise<Check> {
  const { serverVersion } = await soon(() => client.workflowService.getSystemInfo({}));
  const { config } = await soon(() => client.workflowService.describeNamespace({ namespace }));
  const days = Math.round(Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400);
  return {
    check: 'engine',
    ok: true,
    detail: `${address}, namespace ${namespace}, server ${serverVersion}, keeps ended payouts for ${days} days`,
  };
}

async function searchAttributes({ client, namespace, soon }: Session): Promise<Check> {
  const missing = await soon(() => missingSearchAttributes(client.connection, namespace));
  if (missing.length === 0) return { check: 'search attributes', ok: true, detail: 'all there' };
  return {
    check: 'search attributes',
    ok: false,
    detail: `missing: ${missing.join(', ')}`,
    advice: registrationCommand(missing, namespace),
  };
}

async function served(
  { client, namespace, soon }: Session,
  queue: string,
  taskQueueType: typeof WORKFLOW_TASKS | typeof ACTIVITY_TASKS,
  what: string,
): Promise<Check> {
  const { pollers } = await soon(() =>
    client.workflowService.describeTaskQueue({ namespace, taskQueue: { name: queue }, taskQueueType }),
  );
  const ok = (pollers ?? []).length > 0;
  return {
    check: `worker for ${what}`,
    ok,
    detail: ok ? `queue ${queue} is served` : `nobody serves the queue ${queue}`,
    ...(!ok && { advice: 'start one: npm run worker (with the same PAYMENTS_ENVIRONMENT and application)' }),
  };
}

/** Without a worker the probe would only wait. */
async function asked(
  session: Session,
  checks: readonly Check[],
  ask: (reads: ServiceReads) => Promise<ProbeFinding[]>,
) {
  const check = 'payments service';
  if (!checks.every(({ ok }) => ok))
    return { probe: { check, ok: false, detail: 'not asked, for no worker could ask it' }, findings: [] };
  try {
    const findings = await ask(session.reads);
    return { probe: { check, ok: true, detail: 'asked through a worker' }, findings };
  } catch (error) {
    const detail = error instanceof Error && error.cause instanceof Error ? error.cause.message : 'no answer';
    return { probe: { check, ok: false, detail }, findings: [] };
  }
}

/** Looks at a hundred: where more users than that have to authorize, the rest is seen once these are well. */
async function tokenStates({ client, soon }: Session, app: string): Promise<Check> {
  const check = 'tokens';
  try {
    const tokens = await soon(() => new Tokens(client).list(app, 100));
    const bad = tokens.filter((token) => 'ended' in token || token.needsAttention);
    const detail = `${tokens.length} known, ${bad.length} need somebody`;
    return { check, ok: bad.length === 0, detail, ...(bad.length > 0 && { advice: 'payouts tokens' }) };
  } catch {
    return { check, ok: false, detail: 'nobody answers for them' };
  }
}

function withPoint(finding: ProbeFinding) {
  return { ...OPEN_POINTS.find(({ id }) => id === finding.id), ...finding };
}

function line({ check, ok, detail, advice }: Check): string {
  const mark = ok ? pc.green('ok  ') : pc.red('BAD ');
  return `${mark} ${check}: ${detail}${advice ? `\n       ${advice}` : ''}`;
}

function table(findings: readonly ProbeFinding[]): string {
  if (findings.length === 0) return '';
  const rows = findings.map((finding) => {
    const { setting } = { setting: '', ...OPEN_POINTS.find(({ id }) => id === finding.id) };
    return [finding.id, finding.verdict, wrap(finding.detail), wrap(setting.replaceAll('`', ''))];
  });
  return `What the specification leaves open (docs/open-points.md):\n${grid(['point', 'verdict', 'seen', 'setting'], rows)}`;
}

function wrap(text: string): string {
  return text.replace(/(.{1,60})(\s+|$)/g, '$1\n').trim();
}
