/** Takes pictures of the dashboards from a run with three incidents, into docs/dashboards. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Topology } from '../../scripts/topology.ts';
import { dashboardsOf } from './dashboards.ts';
import { type Band, drawDashboard } from './draw.ts';
import { INCIDENTS } from './incidents.ts';
import { observed } from './observed.ts';

const FOLDER = join(import.meta.dirname, '../../docs/dashboards');
const SHOWN = ['shared-application', 'lost-answers', 'notification-secret'];
const HEALTHY_MS = 120_000;
const INCIDENT_MS = 60_000;
const STEP_SECONDS = 5;

export async function takePictures(topology: Topology, say: (line: string) => void): Promise<void> {
  const { prometheus, stream, running } = await observed(topology, 'pictures');
  const from = seconds();
  const bands: Band[] = [];
  const causes: string[] = [];
  await sleep(HEALTHY_MS);
  for (const incident of INCIDENTS.filter(({ name }) => SHOWN.includes(name))) {
    const letter = String.fromCharCode('A'.charCodeAt(0) + bands.length);
    say(`${letter}: ${incident.cause} …`);
    const begun = seconds();
    const repair = await incident.begin(topology);
    await sleep(INCIDENT_MS);
    await repair();
    bands.push({ letter, from: begun, to: seconds() });
    causes.push(`${letter}: ${incident.cause}`);
    await sleep(HEALTHY_MS);
  }
  const range = { from, to: seconds(), step: STEP_SECONDS };
  mkdirSync(FOLDER, { recursive: true });
  const date = new Date().toISOString().slice(0, 10);
  for (const dashboard of await dashboardsOf(prometheus.url, range)) {
    const captions = [`${date}, the production topology, a payout every second`, ...causes];
    writeFileSync(join(FOLDER, `${dashboard.name}.svg`), drawDashboard(dashboard, range, bands, captions));
    const empty = dashboard.panels.filter(({ series }) => series.length === 0).map(({ title }) => title);
    say(`${dashboard.name}: ${dashboard.panels.length} panels; without data: ${empty.join('; ') || 'none'}`);
  }
  stream.stop();
  await running;
  await prometheus.stop();
}

function seconds(): number {
  return Math.floor(Date.now() / 1_000);
}
