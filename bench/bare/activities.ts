/** What the bare workflow calls. */
export async function nothing(): Promise<void> {}
