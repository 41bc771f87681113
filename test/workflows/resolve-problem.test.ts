import { expect, test } from 'vitest';
import { resolveProblem } from '../../src/workflows/shared/uncertain-send.ts';

const inReview = { record: { phase: 'NEEDS_REVIEW', sends: 2 }, resolution: undefined, isResolving: false };
const retry = { by: 'olga', created: false, then: 'retry' };
const problemOf = (decision: unknown, run = inReview) => resolveProblem(run, 'payout', 'orderId', decision);

test.each([
  retry,
  { ...retry, sends: 2 },
  { by: 'olga', created: false, then: 'end' },
  { by: 'olga', created: true, orderId: '7' },
])('accepts %j', (decision) => {
  expect(problemOf(decision)).toBeUndefined();
});

test.each([
  [undefined, 'by: must name who decides'],
  [{ ...retry, by: ' ' }, 'by: must name who decides'],
  [{ by: 'olga' }, 'created: must be true or false'],
  [{ by: 'olga', created: true, orderId: '' }, 'orderId: is missing'],
  [{ ...retry, then: 'later' }, 'then: must be end or retry'],
  [{ ...retry, sends: 1 }, 'sends: there were 2 sends, or possible ones: read the state again'],
])('refuses %j', (decision, problem) => {
  expect(problemOf(decision)).toBe(problem);
});

test('refuses a decision while another one is carried out', () => {
  const problem = 'the payout is already being resolved';
  expect(problemOf(retry, { ...inReview, isResolving: true })).toBe(problem);
  expect(resolveProblem({ ...inReview, resolution: {} }, 'payout', 'orderId', retry)).toBe(problem);
});

test('refuses a decision after the end, while the last events are still queued', () => {
  const ended = { ...inReview, record: { phase: 'DONE', sends: 2 } };
  expect(problemOf(retry, ended)).toBe('there is nothing to resolve: the payout is DONE');
});
