/** One operation answered with one record. */
import type { ApiOperation } from '../../../src/payments/operations.ts';
import { clientFor, failureOf } from './client.ts';
import { callOf, successBody } from './samples.ts';
import { answers, startServer } from './server.ts';

/** The answer to `operation` when the provider's record is `data`. */
export async function read(operation: ApiOperation, data: string): Promise<unknown> {
  const server = await startServer(answers(200, successBody(operation, data)));
  return callOf(clientFor(server.origin), operation);
}

export async function refusedField(operation: ApiOperation, data: string): Promise<unknown> {
  const server = await startServer(answers(200, successBody(operation, data)));
  const error = await failureOf(callOf(clientFor(server.origin), operation));
  return error.field ?? error.message;
}

export const without = (data: string, field: string) =>
  data.replace(new RegExp(`"${field}":("[^"]*"|[^,}]+),?`), '').replace(',}', '}');
export const replaced = (data: string, field: string, value: string) =>
  data.replace(new RegExp(`"${field}":("[^"]*"|[^,}]+)`), `"${field}":${value}`);
