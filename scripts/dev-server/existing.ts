/** Uses a Temporal server that is already running, and leaves it as it is. */
import type { DevServer } from '../dev-server.ts';

const UI_PORT_OFFSET = 1000;

/** The server that TEMPORAL_ADDRESS names, if any. */
export function existingServer(env: Readonly<Record<string, string | undefined>>): DevServer | undefined {
  const address = env['TEMPORAL_ADDRESS'];
  if (!address) return undefined;
  return {
    address,
    uiUrl: assumedUiUrl(address),
    namespace: env['TEMPORAL_NAMESPACE'] || 'default',
    logFile: undefined,
    pid: undefined,
    stop: async () => {},
    kill: () => Promise.reject(new Error('this Temporal server was started elsewhere')),
    restart: () => Promise.reject(new Error('this Temporal server was started elsewhere')),
  };
}

/** Dev servers and the compose file serve the UI 1,000 ports above the frontend. */
function assumedUiUrl(address: string): string {
  const [, host = 'localhost', port = '7233'] = /^(?:\w+:\/\/)?(.*?)(?::(\d+))?$/.exec(address) ?? [];
  return `http://${host}:${Number(port) + UI_PORT_OFFSET}`;
}
