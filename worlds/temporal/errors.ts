/** gRPC errors as a client receives them. */
import { createRequire } from 'node:module';
import type { ServiceError } from '@grpc/grpc-js';

// The client's own copy of gRPC, which is not a dependency of this project.
const require = createRequire(createRequire(import.meta.url).resolve('@temporalio/client'));
const grpc: typeof import('@grpc/grpc-js') = require('@grpc/grpc-js');

export type Code = keyof typeof grpc.status;

export function grpcError(code: Code, details: string): ServiceError {
  const error = new Error(`${grpc.status[code]} ${code}: ${details}`);
  return Object.assign(error, { code: grpc.status[code], details, metadata: new grpc.Metadata() });
}

export const notFound = (what: string) => grpcError('NOT_FOUND', `${what} not found`);
export const workflowOver = () => grpcError('NOT_FOUND', 'workflow execution already completed');
