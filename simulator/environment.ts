/** Variables of the simulator. */
import { z } from 'zod';
import { appSchema, settingsSchema } from './settings.ts';

const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'is not JSON' });
    return z.NEVER;
  }
});

export const simulatorShape = {
  SIMULATOR_LISTEN: z.string().default('127.0.0.1:8090').meta({
    description: 'The address that the simulator listens on. Port 0 takes any free port.',
    valueType: '`host:port`',
  }),
  SIMULATOR_APPS: jsonText.pipe(z.array(appSchema).min(1)).optional().meta({
    description:
      'The applications: `[{"appId", "appSecret", "redirectUri"?, "notifyUrl"?}]`. Without it, `demo-app` with the secret `demo-secret`.',
    valueType: 'JSON',
  }),
  SIMULATOR_SETTINGS: jsonText.pipe(settingsSchema).optional().meta({
    description:
      'Settings over the defaults of [settings.ts](../simulator/settings.ts): rate limit, lifetimes, rates, fee, what a repeated create does, and every choice that the spec leaves open.',
    valueType: 'JSON',
  }),
};

const schema = z.object(simulatorShape);

/** An empty variable counts as absent, as it does for our other programs. Throws `z.ZodError`. */
export function simulatorEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): z.output<typeof schema> {
  const present = Object.entries(environment).filter(([, value]) => value !== '');
  return schema.parse(Object.fromEntries(present));
}
