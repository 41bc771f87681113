/** Waits for the end of a workflow with Temporal's long poll, which needs no worker. */
import { type Client, WorkflowFailedError } from '@temporalio/client';

export interface WaitOptions {
  /** The maximum time to wait. Milliseconds. */
  timeoutMs: number;
  /** Stops the wait, which then throws the reason of the signal. */
  signal?: AbortSignal | undefined;
}

/**
 * Resolves at the end of the workflow, however it ended, or after the timeout. Throws Temporal's
 * `WorkflowNotFoundError`.
 */
export async function untilEnd(
  client: Client,
  handle: { result(): Promise<unknown> },
  { timeoutMs, signal }: WaitOptions,
): Promise<void> {
  signal?.throwIfAborted();
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  signal?.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(stop, timeoutMs);
  try {
    await client.withAbortSignal(stopped.signal, () => handle.result());
  } catch (error) {
    signal?.throwIfAborted();
    if (!stopped.signal.aborted && !(error instanceof WorkflowFailedError)) throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
