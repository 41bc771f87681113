import { z } from 'zod';

/** `PAYOUTS_LOG_LEVEL`: what a process writes to standard error. No level ever shows a secret or personal data. */
export const logLevel = z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info');
