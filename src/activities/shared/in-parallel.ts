/** How many workflows an activity reads or starts at once. Each takes Temporal milliseconds, so more would only queue. */
const MAX_CONCURRENT = 8;

/** Like `Promise.all` over `items`, with a limited number of them at once. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const lane = async () => {
    for (const [at, item] of queue) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT, items.length) }, lane));
  return results;
}
