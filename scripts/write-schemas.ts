/** `schemas/`, from the zod schemas. */
import { join } from 'node:path';
import type { z } from 'zod';
import { EVENT_TYPES } from '../src/contract/codes.ts';
import { eventSchema } from '../src/contract/events.ts';
import { jsonSchema } from '../src/contract/json-schema.ts';
import { payoutResultSchema, payoutStateSchema } from '../src/contract/payout.ts';
import { payoutRequestSchema } from '../src/contract/payout-request.ts';
import { problemSchema } from '../src/contract/problems.ts';
import {
  receivingAccountRequestSchema,
  receivingAccountResultSchema,
} from '../src/contract/receiving-account.ts';
import { dailyReportSchema, followUpResultSchema } from '../src/contract/reconciliation.ts';

export const SCHEMAS_FOLDER = join(import.meta.dirname, '../schemas');

/** JSON Schemas by file name. */
export function schemaFiles(): Record<string, object> {
  return {
    'payout-request.json': titled('PayoutRequest', payoutRequestSchema, 'input'),
    'payout-result.json': titled('PayoutResult', payoutResultSchema, 'output'),
    'payout-state.json': titled('PayoutState', payoutStateSchema, 'output'),
    'follow-up-result.json': titled('FollowUpResult', followUpResultSchema, 'output'),
    'daily-report.json': titled('DailyReport', dailyReportSchema, 'output'),
    'receiving-account-request.json': titled(
      'ReceivingAccountRequest',
      receivingAccountRequestSchema,
      'input',
    ),
    'receiving-account-result.json': titled('ReceivingAccountResult', receivingAccountResultSchema, 'output'),
    'problem.json': titled('Problem', problemSchema, 'output'),
    ...Object.fromEntries(
      EVENT_TYPES.map((type) => [
        `event-${type.replaceAll(/[._]/g, '-')}.json`,
        titled(type, eventSchema(type), 'output'),
      ]),
    ),
  };
}

function titled(title: string, zod: z.ZodType, io: 'input' | 'output'): object {
  const { $schema, ...schema } = jsonSchema(zod, io, title);
  return { $schema, title, ...schema };
}
