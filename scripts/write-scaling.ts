/** `node --import tsx scripts/write-scaling.ts`: writes the figures of the recorded histories into docs/scaling.md. */
import { writeScalingPage } from './history-costs.ts';

writeScalingPage();
