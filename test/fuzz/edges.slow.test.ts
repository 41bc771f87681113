import { expect, test } from 'vitest';
import { EDGES } from '../../fuzz/edges.ts';

/** The more expensive an input, the fewer inputs: about a second of CPU time for each edge. */
const INPUTS: Readonly<Record<string, number>> = {
  notifications: 300,
  api: 300,
  desk: 250,
  files: 400,
  wire: 400,
  codec: 750,
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
