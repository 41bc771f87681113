import { z } from 'zod';

export const logLevelShape = {
  PAYOUTS_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('What the process logs to standard error. No level logs a secret or personal data.'),
};
