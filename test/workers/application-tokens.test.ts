import { describe, expect, test, vi } from 'vitest';
import { ApplicationTokens } from '../../src/workers/application-tokens.ts';

function source(expiresInSeconds: number) {
  let issued = 0;
  const fetch = vi.fn(async () => ({ accessToken: `token-${++issued}`, expiresInSeconds }));
  return { fetch, tokens: new ApplicationTokens(fetch) };
}

describe('the application token is fetched once for all who ask', () => {
  test('fifty callers at once cost one call, and later ones none', async () => {
    const { fetch, tokens } = source(7_200);
    const all = await Promise.all(Array.from({ length: 50 }, () => tokens.token({ kind: 'application' })));
    expect(new Set(all)).toEqual(new Set(['token-1']));
    expect(await tokens.token({ kind: 'application' })).toBe('token-1');
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  test('one that the service rejected is replaced; a rejection of an older one changes nothing', async () => {
    const { fetch, tokens } = source(7_200);
    const first = await tokens.token({ kind: 'application' });
    tokens.rejected('application', undefined, first);
    expect(await tokens.token({ kind: 'application' })).toBe('token-2');
    tokens.rejected('application', undefined, first);
    expect(await tokens.token({ kind: 'application' })).toBe('token-2');
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  test('an expired one is never handed out, and a failed renewal is told to who needed it', async () => {
    const { fetch, tokens } = source(0);
    await tokens.token({ kind: 'application' });
    fetch.mockRejectedValueOnce(new Error('the service is away'));
    await expect(tokens.token({ kind: 'application' })).rejects.toThrow('the service is away');
    expect(await tokens.token({ kind: 'application' })).toBe('token-2');
  });

  test('a user token is refused: this process holds none', async () => {
    await expect(source(1).tokens.token({ kind: 'user' })).rejects.toThrow(/user/);
  });
});
