import { afterEach, describe, expect, test } from 'vitest';
import { RateLimit } from '../../simulator/state/rate-limit.ts';
import { standingClock } from '../support/standing-clock.ts';
import { SimulatorClient } from './support/simulator-client.ts';

const admit = (rateLimit: RateLimit, times: readonly number[], limit = 20, rejectedCount = false) =>
  times.map((atMs) => rateLimit.admit('app', atMs, limit, rejectedCount));
const every = (count: number, stepMs: number, fromMs = 0) =>
  Array.from({ length: count }, (_, index) => fromMs + index * stepMs);

describe('the window slides exactly', () => {
  test('20 calls at once pass, the 21st does not, and one passes again 1000 ms after the first', () => {
    const rateLimit = new RateLimit();
    expect(admit(rateLimit, every(20, 0))).not.toContain(false);
    expect(admit(rateLimit, [0, 999.9])).toEqual([false, false]);
    expect(admit(rateLimit, [1000])).toEqual([true]);
  });

  test('it has no edges: ten late in one second and ten early in the next exhaust it', () => {
    const rateLimit = new RateLimit();
    expect(admit(rateLimit, [...every(10, 1, 900), ...every(10, 1, 1100)])).not.toContain(false);
    expect(admit(rateLimit, [1500, 1899])).toEqual([false, false]);
    expect(admit(rateLimit, [1900])).toEqual([true]);
  });

  test('calls 50 ms apart always pass', () => {
    const rateLimit = new RateLimit();
    expect(admit(rateLimit, every(500, 50))).not.toContain(false);
    expect(rateLimit.counts()['app']).toMatchObject({ rejected: 0, maxCallsInAnySecond: 20 });
  });

  test('rejected calls count only if configured', () => {
    const times = every(40, 50);
    const lenient = admit(new RateLimit(), times, 10, false);
    const strict = admit(new RateLimit(), times, 10, true);
    expect(lenient.filter(Boolean).length).toBe(20);
    expect(strict.filter(Boolean).length).toBe(10);
  });

  test('arrivals slightly out of order count too', () => {
    const rateLimit = new RateLimit();
    expect(admit(rateLimit, [5, 3, 4, 1, 2], 5)).not.toContain(false);
    expect(admit(rateLimit, [6], 5)).toEqual([false]);
  });

  test('reports the busiest second of all arrivals and of those served', () => {
    const rateLimit = new RateLimit();
    admit(rateLimit, every(30, 1));
    expect(rateLimit.counts()['app']).toEqual({
      calls: 30,
      served: 20,
      rejected: 10,
      maxCallsInAnySecond: 30,
      maxServedInAnySecond: 20,
    });
  });

  test('each application has its own rate limit', () => {
    const rateLimit = new RateLimit();
    expect(rateLimit.admit('one', 0, 1, false)).toBe(true);
    expect(rateLimit.admit('two', 0, 1, false)).toBe(true);
    expect(rateLimit.admit('one', 1, 1, false)).toBe(false);
  });
});

describe('over real sockets', () => {
  let service: SimulatorClient | undefined;
  afterEach(() => service?.close());

  test.each([
    ['http', 429],
    ['envelope', 200],
  ] as const)(
    'a call over the rate limit gets 429 by %s, is counted, and pays nothing',
    async (style, status) => {
      const clock = standingClock();
      service = await SimulatorClient.start();
      const lockRateId = await service.lock();
      service.control.changeSettings({ callsPerSecond: 1, rateLimitStyle: style });
      clock.advance(1_000);
      const replies = await Promise.all(Array.from({ length: 30 }, () => service?.create({ lockRateId })));
      const rejected = replies.filter((reply) => reply?.text.includes('"code":429'));
      expect(rejected.length).toBe(29);
      for (const reply of rejected) expect(reply?.status).toBe(status);
      const counts = service.control.counts();
      expect(counts).toMatchObject({ answered429: rejected.length, rejected: rejected.length, orders: 0 });
      expect(counts.apps['demo-app']?.maxCallsInAnySecond).toBe(30);
      expect(service.control.ledger().creates.every(({ effect }) => effect === 'refused')).toBe(true);
    },
  );

  test('token calls count for the application that they name, and control calls never count', async () => {
    service = await SimulatorClient.start();
    const url = '/v2/token/get?app_id=demo-app&app_secret=demo-secret';
    await service.get(url, { authorization: '' });
    await service.post('/v3/b2b/oauth/token', { app_id: 'demo-app' }, { authorization: '' });
    await service.get('/_sim/counts');
    expect(service.control.counts().apps).toMatchObject({ 'demo-app': { calls: 2, served: 2 } });
  });
});
