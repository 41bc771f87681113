/** The simulator as a program: `SIMULATOR_LISTEN`, `SIMULATOR_APPS`, `SIMULATOR_SETTINGS`. */
import { z } from 'zod';
import { appSchema, settingsSchema } from './settings.ts';
import { startSimulator } from './start.ts';

const DEFAULT_LISTEN = '127.0.0.1:8090';

const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'is not JSON' });
    return z.NEVER;
  }
});

const environment = z.object({
  SIMULATOR_LISTEN: z.string().default(DEFAULT_LISTEN),
  SIMULATOR_APPS: jsonText.pipe(z.array(appSchema).min(1)).optional(),
  SIMULATOR_SETTINGS: jsonText.pipe(settingsSchema).optional(),
});

async function main(): Promise<void> {
  const { SIMULATOR_LISTEN, SIMULATOR_APPS, SIMULATOR_SETTINGS } = environment.parse(process.env);
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
