/** The simulator as a program: `SIMULATOR_LISTEN`, `SIMULATOR_APPS`, `SIMULATOR_SETTINGS`. */
import { z } from 'zod';
import { simulatorEnvironment } from './settings.ts';
import { startSimulator } from './start.ts';

async function main(): Promise<void> {
  const { SIMULATOR_LISTEN, SIMULATOR_APPS, SIMULATOR_SETTINGS } = simulatorEnvironment(process.env);
  const simulator = await startSimulator({
    listen: SIMULATOR_LISTEN,
    settings: SIMULATOR_SETTINGS,
    apps: SIMULATOR_APPS,
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => void simulator.close().finally(() => process.exit(0)));
  console.log(`simulator listening on ${simulator.url} (status page /_sim, control API /_sim/…)`);
}

main().catch((error: unknown) => {
  console.error(error instanceof z.ZodError ? z.prettifyError(error) : error);
  process.exit(1);
});
