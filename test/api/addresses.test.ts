import { expect, test } from 'vitest';
import { standInClient } from '../../fuzz/temporal.ts';

import { get, startApiServer } from '../support/http.ts';

test.each([
  ['cannot be decoded', '/v1/payouts/secret-canary%', 400],
  ['is too long', `/v1/payouts/secret-canary${'x'.repeat(1_100)}`, 414],
])('a URL that %s returns a problem document that does not quote it', async (_what, path, status) => {
  const client = standInClient({ ends: {}, states: [], queries: {}, argumentOf: () => null });
  const service = await startApiServer(client);
  try {
    const answer = await get(service.url + path);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toMatch('application/problem+json');
    expect(answer.body).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
    expect(JSON.stringify(answer.body)).not.toContain('secret-canary');
  } finally {
    await service.close();
  }
});
