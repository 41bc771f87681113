import { expect, test } from 'vitest';
import {
  allowanceWorkflowId,
  applicationOf,
  authorizationWorkflowId,
  batchPartWorkflowId,
  clientPair,
  eventDeliveryWorkflowId,
  leaseWorkflowId,
  payoutBatchWorkflowId,
  payoutFollowUpWorkflowId,
  payoutOperationWorkflowId,
  payoutWorkflowId,
  receivingAccountWorkflowId,
  reconciliationId,
  reportId,
  tokenWorkflowId,
} from '../../src/contract/ids.ts';

test.each([
  payoutWorkflowId('east', 'a:b'),
  payoutFollowUpWorkflowId('east', 'a'),
  payoutOperationWorkflowId('east', 'a', 'r'),
  payoutBatchWorkflowId('east', 'b'),
  batchPartWorkflowId('east', 'b', 0, '0123456789abcdef'),
  receivingAccountWorkflowId('east', 'r'),
  eventDeliveryWorkflowId('test', 'east', 'shop'),
  tokenWorkflowId('east', 'u-1'),
  authorizationWorkflowId('east', 'hash'),
])('%s belongs to its application: the desk hides it from keys of others', (workflowId) => {
  expect(applicationOf(workflowId)).toBe('east');
});

test.each([
  `${reconciliationId('test')}-workflow-2026-01-31T08:15:00Z`,
  `${reportId('test')}:2026-01-31`,
  leaseWorkflowId('test', 'app-id'),
  allowanceWorkflowId('test', 'shop'),
])('%s belongs to no single application', (workflowId) => {
  expect(applicationOf(workflowId)).toBeUndefined();
});

test('H235 a pair that one user has shown proves nothing for another one', () => {
  const pair = { app: 'default', clientId: 'client-1', payerId: 'payer-1' };
  const known = [undefined, 'u-1', 'u-2'].map((openId) => clientPair('test', { ...pair, openId }));
  expect(new Set(known).size).toBe(3);
});
