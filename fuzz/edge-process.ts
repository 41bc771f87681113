/** One of the processes of `npm run fuzz`: an order comes in, how far it is and its report go out. */
import { z } from 'zod';
import { EDGES } from './edges.ts';

const whole = z.number().int().min(0);

export const orderSchema = z.object({
  edge: z.string(),
  from: whole,
  inputs: whole,
  /** How often to say which input comes next: 1 where one of them ends the process. */
  tellEvery: whole,
});
export type EdgeOrder = z.output<typeof orderSchema>;

export const newsSchema = z.union([
  z.literal('ready'),
  z.object({ at: whole }),
  z.object({
    report: z.object({
      ...{ edge: z.string(), inputs: whole, accepted: whole, refused: whole, seconds: z.number() },
      slowest: z.object({ ms: z.number(), seed: whole }),
      ...{ heapBefore: z.number(), heapAfter: z.number() },
      found: z.array(z.object({ seed: whole, what: z.string(), smallest: z.string() })),
    }),
  }),
]);

/** Millions of errors are made here, and nobody reads where they come from. */
const MOST_FRAMES = 4;

function serve(): void {
  Error.stackTraceLimit = MOST_FRAMES;
  process.on('message', (message) => {
    const { edge, from, inputs, tellEvery } = orderSchema.parse(message);
    const run = EDGES.get(edge);
    if (!run) throw new RangeError(`there is no edge ${edge}`);
    const onInput = (seed: number, isSmaller: boolean) => {
      if (isSmaller || (seed - from) % tellEvery === 0) process.send?.({ at: seed });
    };
    run({ from, inputs }, { onInput }).then(
      (report) => process.send?.({ report }),
      (error: unknown) => {
        console.error(`${edge}:`, error);
        process.exit(1);
      },
    );
  });
  // Whoever started it is gone.
  process.on('disconnect', () => process.exit(1));
  process.send?.('ready');
}

if (process.send && process.argv[2] === 'serve') serve();
