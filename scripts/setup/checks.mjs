/** What `npm test` runs, and how its results are counted. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { projectRoot, runAttached, SetupError, tsc } from './process.mjs';

/**
 * `failures`: what failed, a line each, with its first reason.
 * @typedef {{ passed: number, failed: number, skipped: number, failures?: readonly string[] }} Count
 */

const MAX_REASON_LENGTH = 300;

/** Each counts as one test. */
const CHECKS = /** @type {const} */ ([
  { name: 'types', command: process.execPath, args: types() },
  { name: 'lint and format', command: bin('biome'), args: ['check', '--error-on-warnings'] },
]);

function types() {
  const state = join(projectRoot, 'node_modules/.cache/durable-payouts/types.tsbuildinfo');
  return [tsc, '-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', state];
}

/**
 * Types and lint, in parallel.
 * @returns {Promise<Count[]>}
 */
export function runChecks() {
  return Promise.all(CHECKS.map(runCheck));
}

/**
 * @param {{ name: string, command: string, args: readonly string[] }} check
 * @returns {Promise<Count>}
 */
async function runCheck({ name, command, args }) {
  const code = await runAttached(command, [...args]);
  console.log(`${code === 0 ? 'passed' : 'failed'}: ${name}`);
  return code === 0
    ? { passed: 1, failed: 0, skipped: 0 }
    : { passed: 0, failed: 1, skipped: 0, failures: [name] };
}

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @param {'run' | 'related'} [command]
 * @returns {Promise<Count>}
 */
export async function runVitest(args, env = process.env, command = 'run') {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-test-report-'));
  const file = join(folder, 'report.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const code = await runAttached(bin('vitest'), [command, '--run', ...reporters, ...args], env);
    return countReport(readReport(file), code, command === 'related');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @typedef {{ status: string, fullName?: string, failureMessages?: string[] }} TestResult
 * @typedef {{ status: string, name?: string, message?: string, assertionResults: TestResult[] }} FileResult
 * @typedef {object} Report
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {FileResult[]} testResults
 */

/**
 * A failed run counts at least one failure, even if no test failed: a file did not load, an error occurred outside
 * of the tests, Vitest crashed, or there were no tests.
 * @param {Report | undefined} report
 * @param {number} code
 * @param {boolean} [mayBeEmpty]
 * @returns {Count}
 */
export function countReport(report, code, mayBeEmpty = false) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0, failures: ['the run left no report'] };
  const isFailed = (/** @type {{ status: string }} */ { status }) => status === 'failed';
  const unloaded = report.testResults.filter(
    (file) => isFailed(file) && !file.assertionResults.some(isFailed),
  );
  const failures = [
    ...report.testResults.flatMap(({ name = '', assertionResults }) =>
      assertionResults
        .filter(isFailed)
        .map(({ fullName = '', failureMessages }) => failure(name, fullName, failureMessages?.[0])),
    ),
    ...unloaded.map(({ name = '', message }) => failure(name, 'does not load', message)),
  ];
  const failed = report.numFailedTests + unloaded.length;
  const passed = report.numPassedTests;
  const unexplained = failed === 0 && (code !== 0 || (passed === 0 && !mayBeEmpty));
  return {
    passed,
    failed: failed + (unexplained ? 1 : 0),
    skipped: report.numPendingTests + report.numTodoTests,
    failures: unexplained ? ['an error outside of the tests'] : failures,
  };
}

/**
 * @param {string} file
 * @param {string} test
 * @param {string} [message]
 */
function failure(file, test, message = '') {
  const [reason = ''] = message.split('\n');
  return `${relative(projectRoot, file)} > ${test}: ${reason.slice(0, MAX_REASON_LENGTH)}`;
}

/** @param {Count[]} counts */
export function sum(counts) {
  const failures = counts.flatMap((count) => count.failures ?? []);
  const total = { passed: 0, failed: 0, skipped: 0, failures };
  for (const count of counts) {
    total.passed += count.passed;
    total.failed += count.failed;
    total.skipped += count.skipped;
  }
  return total;
}

/** @param {Count} count */
export function closingLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/**
 * @param {string} file
 * @returns {Report | undefined}
 */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** @param {string} name */
function bin(name) {
  return join(projectRoot, 'node_modules', '.bin', name);
}

/** Texts and data, which the tests of the documents read without an import. */
const READ_AS_FILES = /\.(?:md|json|ya?ml|env\.example)$/;
const THEIR_TESTS = ['test/docs', 'test/config', 'test/contract'];

/**
 * Since a commit, or in the working tree. With a clean tree: in the last commit.
 * @param {string} [since]
 * @returns {string[]}
 */
export function changedFiles(since) {
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

/** @param {string[]} args */
function git(...args) {
  try {
    const lines = execFileSync('git', args, { cwd: projectRoot, encoding: 'utf8' }).split('\n');
    return lines.filter((line) => line !== '');
  } catch {
    throw new SetupError('test:changed works in a clone of the repository, with a commit that exists');
  }
}
