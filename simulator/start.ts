/** Starts a simulator in this process that listens on a socket. */
import { Control, type SimulatorControl } from './control/control.ts';
import { buildServer } from './http/server.ts';
import { HttpTransport } from './notifier.ts';
import { PROCESS_RUNTIME } from './runtime.ts';
import type { App, SettingsChange } from './settings.ts';
import { World } from './world.ts';

export interface SimulatorOptions {
  /** `host:port`. Default: loopback and any free port. */
  listen?: string | undefined;
  settings?: SettingsChange | undefined;
  apps?: readonly App[] | undefined;
}

export interface Simulator {
  url: string;
  control: SimulatorControl;
  close(): Promise<void>;
}

export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { host, port } = parseListen(options.listen ?? '127.0.0.1:0');
  const { settings, apps } = options;
  const world = new World({
    runtime: PROCESS_RUNTIME,
    transport: new HttpTransport(),
    settings,
    apps,
  });
  const control = new Control(world);
  const server = buildServer(world, control);
  const url = await server.listen({ host, port });
  return {
    url,
    control,
    close: async () => {
      await world.close();
      await server.close();
    },
  };
}

function parseListen(listen: string): { host: string; port: number } {
  const match = /^(.+):(\d{1,5})$/.exec(listen);
  const port = Number(match?.[2]);
  if (!match?.[1] || !(port <= 65_535)) throw new Error(`SIMULATOR_LISTEN must be host:port, not ${listen}`);
  return { host: match[1].replace(/^\[(.*)\]$/, '$1'), port };
}
