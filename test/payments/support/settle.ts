import { PaymentsError } from '../../../src/payments/errors.ts';

/** `OK`, or the error's code, followed by the meaning of a refused create. */
export async function settle(call: Promise<unknown>): Promise<[string, PaymentsError?]> {
  try {
    await call;
    return ['OK'];
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    const meaning = error.meaning === undefined ? '' : ` ${error.meaning}`;
    return [error.code + meaning, error];
  }
}
