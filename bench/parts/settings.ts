/** What most parts share: the limit and the way to the service. */
export const LIMIT = 20;
/** 100 ms ± 50 ms. */
export const LATENCY = { answersAfterMs: [50, 150] };
export const STRICT = { callsPerSecond: LIMIT, ...LATENCY };
export const WORKERS = 3;
/** No limit worth the name on either side, to see what the engine bears. */
export const UNLIMITED = {
  simulator: { callsPerSecond: 1_000_000, ...LATENCY },
  env: { PAYMENTS_CALLS_PER_SECOND: '1000' },
};
/** The order ends a second after its creation, and is notified then. */
export const SOON_FINAL = 'success final=1s';
/** Until the bench ends it. */
export const STAYS_OPEN = 'stuck';
