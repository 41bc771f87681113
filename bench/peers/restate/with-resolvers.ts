/** Restate's SDK calls `Promise.withResolvers`, which Node 20 lacks. */
Object.defineProperty(Promise, 'withResolvers', {
  configurable: true,
  value: () => {
    const resolvers: Record<string, unknown> = {};
    const promise = new Promise((resolve, reject) => Object.assign(resolvers, { resolve, reject }));
    return { promise, ...resolvers };
  },
});
