/** Our own check on the way out. */
import type { z } from 'zod';
import { InvalidRequestError } from './errors.ts';
import type { OperationName } from './operations.ts';

/** The request, normalised; throws `InvalidRequestError` with every bad field. Messages quote no values. */
export function checked<T>(operation: OperationName, schema: z.ZodType<T>, request: unknown): T {
  const result = schema.safeParse(request);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  throw new InvalidRequestError({ operation, requestId: 'not-sent' }, fields);
}
