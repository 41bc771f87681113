/** `PAYOUTS_NEXUS_FILE`: the applications that serve the Nexus operation `pay`, and what its callers may pay. */
import { z } from 'zod';
import { appName } from '../contract/fields.ts';
import type { Permissions } from '../domain/permissions.ts';
import { permissionShape } from './callers.ts';
import type { Environment, Read } from './environment.ts';
import { readJsonFile } from './json-file.ts';
import { optionalText } from './values.ts';

const FILE = 'PAYOUTS_NEXUS_FILE';

export const nexusShape = {
  [FILE]: optionalText(
    'A JSON file of the applications that serve [Nexus](nexus.md) calls, and what these may pay: see [PAYOUTS_NEXUS_FILE](#payouts_nexus_file). Give all workers the same. Without it, workers serve no Nexus calls.',
    'path',
  ),
};

export const nexusEntry = z.strictObject(permissionShape);
export const nexusFile = z.record(appName, nexusEntry);

/** Refuses names that no application of this worker has: they are typing errors. */
export function readNexus(
  environment: Environment,
  applications: ReadonlyMap<string, unknown> | undefined,
): Read<ReadonlyMap<string, Permissions>> {
  const { [FILE]: path } = environment;
  if (!path) return { ok: true, value: new Map() };
  const file = readJsonFile(FILE, path, nexusFile);
  if (!file.ok) return file;
  const unknown = Object.keys(file.value).filter((name) => applications?.has(name) === false);
  return unknown.length > 0
    ? { ok: false, problems: unknown.map((name) => `${FILE}: ${name} is not configured`) }
    : { ok: true, value: new Map(Object.entries(file.value)) };
}
