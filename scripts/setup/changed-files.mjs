/** What has changed, for the tests that a change affects. */
import { execFileSync } from 'node:child_process';
import { SetupError } from './console.mjs';
import { projectRoot } from './paths.mjs';

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
