/** Start-to-close time-out of the create activity: after it, no create of that activity can still be sent. */
export const CREATE_TIMEOUT_MS = 45_000;

/** A create is sent only while its whole HTTP exchange still fits into the activity's time-out. */
export const CREATE_SEND_WITHIN_MS = 20_000;

/** A call that has waited this long for its turn or its answer deserves a look. */
export const CALL_WAITS_TOO_LONG_MS = 5 * 60_000;
