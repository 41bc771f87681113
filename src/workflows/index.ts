/** The workflow types that workers run. */
export { payout } from './payout.ts';
