/** A child process of `npm run fuzz`: receives an order, sends its progress and its report. */
import { z } from 'zod';
import { EDGES } from './edges.ts';

const whole = z.number().int().min(0);

export const orderSchema = z.object({
  edge: z.string(),
  from: whole,
  inputs: whole,
  /** How often to report the next input: 1 to find an input that ends the process. */
  reportEvery: whole,
});
export type EdgeOrder = z.output<typeof orderSchema>;

export const childMessageSchema = z.union([
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

/** Short stacks, because inputs cause millions of errors. */
const MAX_FRAMES = 4;

function serve(): void {
  Error.stackTraceLimit = MAX_FRAMES;
  process.on('message', (message) => {
    const { edge, from, inputs, reportEvery } = orderSchema.parse(message);
    const run = EDGES.get(edge);
    if (!run) throw new RangeError(`unknown edge ${edge}`);
    const onInput = (seed: number, isSmaller: boolean) => {
      if (isSmaller || (seed - from) % reportEvery === 0) process.send?.({ at: seed });
    };
    run({ from, inputs }, { onInput }).then(
      (report) => process.send?.({ report }),
      (error: unknown) => {
        console.error(`${edge}:`, error);
        process.exit(1);
      },
    );
  });
  // The parent process has ended.
  process.on('disconnect', () => process.exit(1));
  process.send?.('ready');
}

if (process.send && process.argv[2] === 'serve') serve();
