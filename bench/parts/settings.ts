/** Settings that most parts share: the rate limit and the provider's latency. */
export const LIMIT = 20;
/** 100 ms ± 50 ms. */
export const LATENCY = { answersAfterMs: [50, 150] };
export const STRICT = { callsPerSecond: LIMIT, ...LATENCY };
export const WORKERS = 3;
/** Practically no limit on either side, to measure the Temporal server. */
export const UNLIMITED = {
  simulator: { callsPerSecond: 1_000_000, ...LATENCY },
  env: { PAYMENTS_CALLS_PER_SECOND: '1000' },
};
/** The order ends one second after the create, with a notification. */
export const SOON_FINAL = 'success final=1s';
/** The order stays open until the benchmark ends it. */
export const STAYS_OPEN = 'stuck';
