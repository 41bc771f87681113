/** Each read or start of a workflow takes Temporal milliseconds, so more at once would only queue. */
const MAX_CONCURRENT = 8;

/** Like `Promise.all` over `items`, with at most `limit` of them at once. */
export async function inParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  limit = MAX_CONCURRENT,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const lane = async () => {
    for (const [at, item] of queue) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  return results;
}
