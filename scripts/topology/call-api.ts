/** Requests to the API servers of the topology, as a caller sends them. */
import { request } from 'undici';
import { readKey } from '../../deploy/keys.mjs';
import type { Topology } from '../topology.ts';

/** One request with the key of the starter. Throws unless it is accepted. */
export async function callApi(
  { places }: Topology,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<unknown> {
  const key = readKey(places.keysFolder, 'operator', 'starter-key');
  const answer = await request(places.apiUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
  return JSON.parse(text);
}
