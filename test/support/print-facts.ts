/** `print-facts.ts BUNDLE SEED`: prints what happens in the world of a seed, as JSON. */
import { runSeed } from '../../worlds/payouts/run-seed.ts';
import { loadWorkflows } from '../../worlds/sdk.ts';

const [bundle = '', seed] = process.argv.slice(2);
const { facts } = await runSeed(await loadWorkflows(bundle), Number(seed));
process.stdout.write(JSON.stringify(facts), () => process.exit());
