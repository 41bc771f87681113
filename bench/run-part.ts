/** The parts by name, with their full sizes and the description of each measurement. */
import { cpus, totalmem } from 'node:os';
import { headCommit } from '../scripts/campaign-log.ts';
import type { About, PartFigures, PartName } from './figures.ts';
import { api } from './parts/api.ts';
import { apps } from './parts/apps.ts';
import { backlog } from './parts/backlog.ts';
import { connections } from './parts/connections.ts';
import { engine } from './parts/engine.ts';
import { events } from './parts/events.ts';
import { fleet } from './parts/fleet.ts';
import { handover } from './parts/handover.ts';
import { polling } from './parts/polling.ts';
import { rateLimit } from './parts/rate-limit.ts';
import { startup } from './parts/startup.ts';
import { waiting } from './parts/waiting.ts';
import { temporalVersion } from './stage.ts';
import type { Say } from './waits.ts';

const PARTS: { [Name in PartName]: (scale: number, say: Say) => Promise<PartFigures[Name]> } = {
  rateLimit: (scale, say) => rateLimit(scaled(1_000, scale), say),
  backlog: (scale, say) => backlog(scaled(5_000, scale), say),
  handover: (scale, say) => handover(Math.max(1, Math.round(20 * scale)), say),
  apps: (scale, say) => apps(scaled(100, scale), say),
  polling: (scale, say) => polling(scaled(2_000, scale), say),
  engine: (scale, say) => engine(scaled(300, scale), say),
  waiting: (scale, say) => waiting(scaled(10_000, scale), say),
  api: (scale, say) => api({ payouts: scaled(1_000, scale), ...scaledRounds(scale) }, say),
  connections: (scale, say) => connections(scaled(5_000, scale), scaledRounds(scale).rounds, say),
  events: (scale, say) => events(scaled(300, scale), say),
  startup: (_scale, say) => startup(9, say),
  fleet: (scale, say) => fleet(Math.max(2, Math.round(100 * scale)), say),
};

function scaled(full: number, scale: number): number {
  return Math.max(10, Math.round(full * scale));
}

/** Time and rounds of a load test: five rounds of ten seconds each. */
function scaledRounds(scale: number): { seconds: number; rounds: number } {
  return { seconds: Math.max(1, Math.round(10 * scale)), rounds: Math.max(1, Math.round(5 * scale)) };
}

export async function runPart<Name extends PartName>(
  name: Name,
  scale: number,
  say: Say,
): Promise<PartFigures[Name] & About> {
  const measuredAt = new Date().toISOString();
  const figures = await PARTS[name](scale, say);
  const engine = `Temporal dev server ${temporalVersion()}, SQLite file`;
  const commit = headCommit().slice(0, 8);
  return { measuredAt, commit, node: process.version, engine, machine: machine(), scale, ...figures };
}

function machine(): string {
  return `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}`;
}
