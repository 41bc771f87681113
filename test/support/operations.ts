/** The operations of the API, as its OpenAPI document lists them. */
import type { Client } from '@temporalio/client';
import { openApiDocument } from '../../src/starters/api/openapi.ts';
import { buildServer } from '../../src/starters/api/server.ts';
import { LOOPBACK } from './http.ts';

export interface ListedOperation {
  method: 'GET' | 'POST';
  path: string;
  verb: string;
}

export async function documentOf(client: Client) {
  const server = await buildServer(client, LOOPBACK);
  await server.ready();
  const document = openApiDocument(server);
  await server.close();
  return document;
}

/** Those that a key may be used for. */
export async function operationsOf(client: Client): Promise<ListedOperation[]> {
  const { paths } = await documentOf(client);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { description }]) => {
      const verb = /the permission `(\w+)`/.exec(description ?? '')?.[1];
      if (verb === undefined || !path.startsWith('/v1/')) return [];
      return [{ method: method === 'get' ? ('GET' as const) : ('POST' as const), path, verb }];
    }),
  );
}
