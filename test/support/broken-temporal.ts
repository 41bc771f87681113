/**
 * A gRPC front that accepts connections, as Temporal's frontend does while its database is down: it forwards the calls that
 * it serves, and refuses or ignores all others.
 */
import { createServer } from 'node:http2';
import { type GrpcCall, startGrpcFront } from './grpc-front.ts';

/** UNAVAILABLE, as Temporal says it. */
const NO_DATABASE = { 'grpc-status': '14', 'grpc-message': 'no usable database connection found' };
/** What a client calls to connect. */
const CONNECT = /\/GetSystemInfo$/;

export interface BrokenTemporal {
  address: string;
  close(): Promise<void>;
}

/** `silent`: calls get no answer. `serves`: the gRPC methods that work. */
export async function startBrokenTemporal(
  temporalAddress: string,
  fault: 'unavailable' | 'silent',
  serves: RegExp = CONNECT,
): Promise<BrokenTemporal> {
  const onCall = ({ stream, headers, forward, refuse }: GrpcCall) => {
    const path = headers[':path'] ?? '';
    if (CONNECT.test(path) || serves.test(path)) forward();
    else if (fault === 'unavailable') refuse(NO_DATABASE);
    else stream.resume();
  };
  const { port, close } = await startGrpcFront(createServer(), '127.0.0.1', temporalAddress, onCall);
  return { address: `127.0.0.1:${port}`, close };
}
