/** What the parts of the daily report have in common. */
import type { ListedRun } from '../starters/visibility.ts';

export function pageToken(after: string | undefined): Uint8Array | undefined {
  return after === undefined ? undefined : Buffer.from(after, 'base64');
}

/** Where nothing says for which environment a payout was made, or this process cannot read it, it counts here. */
export async function isMeantFor(run: ListedRun, environment: string): Promise<boolean> {
  const { environment: meant } = await memoOf(run);
  return typeof meant !== 'string' || meant === environment;
}

export async function memoOf(run: ListedRun): Promise<Record<string, unknown>> {
  try {
    return await run.memo();
  } catch {
    return {};
  }
}
