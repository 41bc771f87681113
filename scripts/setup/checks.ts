/** What `npm test` runs, and how its results are counted. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { tsc } from './cache.ts';
import { projectRoot, runAttached, SetupError } from './process.mjs';

export interface Count {
  passed: number;
  failed: number;
  skipped: number;
  /** What failed, a line each, with its first reason. */
  failures?: readonly string[];
}

const MAX_REASON_LENGTH = 300;
const TYPES_STATE = join(projectRoot, 'node_modules/.cache/durable-payouts/types.tsbuildinfo');

/** Types and lint, in parallel. Each counts as one test. */
export function runChecks(): Promise<Count[]> {
  const types = [tsc, '-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', TYPES_STATE];
  return Promise.all([
    runCheck('types', process.execPath, types),
    runCheck('lint and format', bin('biome'), ['check', '--error-on-warnings']),
  ]);
}

async function runCheck(name: string, command: string, args: readonly string[]): Promise<Count> {
  const isPassed = (await runAttached(command, args)) === 0;
  console.log(`${isPassed ? 'passed' : 'failed'}: ${name}`);
  return isPassed
    ? { passed: 1, failed: 0, skipped: 0 }
    : { passed: 0, failed: 1, skipped: 0, failures: [name] };
}

export async function runVitest(args: readonly string[], command: 'run' | 'related' = 'run'): Promise<Count> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-test-report-'));
  const file = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const code = await runAttached(bin('vitest'), [command, '--run', ...reporters, ...args]);
    const report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
    return countReport(report, code, command === 'related');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface TestResult {
  status: string;
  fullName?: string;
  failureMessages?: string[];
}

/** Vitest's report, as far as it's read. */
interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { status: string; name?: string; message?: string; assertionResults: TestResult[] }[];
}

/**
 * A failed run counts at least one failure, even if no test failed: a file did not load, an error occurred outside
 * of the tests, Vitest crashed, or there were no tests.
 */
export function countReport(report: Report | undefined, code: number, mayBeEmpty = false): Count {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0, failures: ['the run left no report'] };
  const failures = report.testResults.flatMap(({ status, name = '', message, assertionResults }) => {
    const failed = assertionResults.filter((one) => one.status === 'failed');
    if (status === 'failed' && failed.length === 0) return [failure(name, 'does not load', message)];
    return failed.map(({ fullName = '', failureMessages }) => failure(name, fullName, failureMessages?.[0]));
  });
  const { numPassedTests: passed, numPendingTests, numTodoTests } = report;
  const skipped = numPendingTests + numTodoTests;
  if (failures.length === 0 && (code !== 0 || (passed === 0 && !mayBeEmpty)))
    return { passed, failed: 1, skipped, failures: ['an error outside of the tests'] };
  return { passed, failed: failures.length, skipped, failures };
}

function failure(file: string, test: string, message = ''): string {
  const [reason = ''] = message.split('\n');
  return `${relative(projectRoot, file)} > ${test}: ${reason.slice(0, MAX_REASON_LENGTH)}`;
}

export function sum(counts: readonly Count[]): Required<Count> {
  const total = (of: (count: Count) => number) => counts.reduce((all, count) => all + of(count), 0);
  return {
    passed: total((count) => count.passed),
    failed: total((count) => count.failed),
    skipped: total((count) => count.skipped),
    failures: counts.flatMap((count) => count.failures ?? []),
  };
}

export function closingLine({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

function bin(name: string): string {
  return join(projectRoot, 'node_modules', '.bin', name);
}

/** Texts and data, which the tests of the documents read without an import. */
const READ_AS_FILES = /\.(?:md|json|ya?ml|env\.example)$/;
const THEIR_TESTS = ['test/docs', 'test/config', 'test/contract'];

/** Since a commit, or in the working tree. With a clean tree: in the last commit. */
export function changedFiles(since?: string): string[] {
  const uncommitted = [
    ...git('diff', '--name-only', 'HEAD'),
    ...git('ls-files', '--others', '--exclude-standard'),
  ];
  const before = since ?? (uncommitted.length === 0 ? 'HEAD~1' : undefined);
  const committed = before === undefined ? [] : git('diff', '--name-only', before, 'HEAD');
  const files = [...new Set([...uncommitted, ...committed])];
  if (!files.some((file) => READ_AS_FILES.test(file))) return files;
  return [...files, ...git('ls-files', ...THEIR_TESTS).filter((file) => file.endsWith('.test.ts'))];
}

function git(...args: readonly string[]): string[] {
  try {
    const lines = execFileSync('git', args, { cwd: projectRoot, encoding: 'utf8' }).split('\n');
    return lines.filter((line) => line !== '');
  } catch {
    throw new SetupError('test:changed works in a clone of the repository, with a commit that exists');
  }
}
