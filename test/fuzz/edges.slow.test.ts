import { expect, test } from 'vitest';
import { EDGES } from '../../fuzz/edges.ts';

/** The more expensive an input, the fewer inputs: about two seconds of CPU time for each edge. */
const INPUTS: Readonly<Record<string, number>> = {
  notifications: 600,
  api: 600,
  desk: 500,
  files: 800,
  wire: 800,
  codec: 1_500,
};

test.each([...EDGES])('%s handles every generated input', async (name, run) => {
  const inputs = INPUTS[name] ?? 0;
  const report = await run({ from: 1, inputs });
  const told = report.found.map(
    ({ seed, what }) => `npm run fuzz -- --only ${name} --inputs 1 --from ${seed}: ${what}`,
  );
  expect(told).toEqual([]);
  expect(report.accepted + report.refused).toBe(inputs);
  // Enough of both: an edge that rejects everything is not exercised.
  expect(report.accepted).toBeGreaterThan(inputs / 10);
  expect(report.refused).toBeGreaterThan(inputs / 10);
});
