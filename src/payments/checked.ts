/** Validates requests before they are sent. */
import type { z } from 'zod';
import { InvalidRequestError } from './errors.ts';
import type { OperationName } from './operations.ts';

/** Returns the normalized request. Throws `InvalidRequestError` with every bad field. Messages contain no values. */
export function checked<T>(operation: OperationName, schema: z.ZodType<T>, request: unknown): T {
  const result = schema.safeParse(request);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  throw new InvalidRequestError({ operation, requestId: 'not-sent' }, fields);
}
