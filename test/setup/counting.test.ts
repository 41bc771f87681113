import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { closingLine, countReport, sum } from '../../scripts/setup/checks.ts';

const passed = { status: 'passed', assertionResults: [{ status: 'passed' }] };

function report(numPassedTests: number, numFailedTests: number, testResults: object[] = [passed]) {
  return { numPassedTests, numFailedTests, numPendingTests: 1, numTodoTests: 0, testResults } as Parameters<
    typeof countReport
  >[0];
}

describe('counting in npm test', () => {
  test('counts passed, failed and skipped tests as reported', () => {
    const broken = {
      status: 'failed',
      fullName: 'adds up',
      failureMessages: ['expected 1 to be 2\n  at sum'],
    };
    const file = { status: 'failed', name: resolve('test/sum.test.ts'), assertionResults: [broken] };
    expect(countReport(report(5, 1, [passed, file]), 1)).toEqual({
      passed: 5,
      failed: 1,
      skipped: 1,
      failures: ['test/sum.test.ts > adds up: expected 1 to be 2'],
    });
  });

  test('counts a file that does not load as one failure', () => {
    const file = {
      status: 'failed',
      name: resolve('test/a.test.ts'),
      message: 'no a.ts',
      assertionResults: [],
    };
    expect(countReport(report(5, 0, [passed, file]), 1)).toMatchObject({
      passed: 5,
      failed: 1,
      failures: ['test/a.test.ts > does not load: no a.ts'],
    });
  });

  test.each([
    ['a run without a report', undefined, 0],
    ['a run that failed outside of any test', report(5, 0), 1],
    ['a run without tests', report(0, 0, []), 0],
  ])('counts %s as one failure', (_what, given, code) => {
    expect(countReport(given, code).failed).toBe(1);
  });

  test('the last line names skipped tests only if there are any', () => {
    const counts = [
      { passed: 1, failed: 0, skipped: 0 },
      { passed: 2, failed: 1, skipped: 0 },
    ];
    expect(closingLine(sum(counts))).toBe('3 passed, 1 failed');
    expect(closingLine({ passed: 3, failed: 0, skipped: 2 })).toBe('3 passed, 0 failed, 2 skipped');
  });
});
