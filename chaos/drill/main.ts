/**
 * `npm run drill`: stages an incident on the production topology. The operator finds its cause with Prometheus and
 * docs/alerts.md.
 *
 *   npm run drill                    one of the incidents, at random
 *   npm run drill -- --incident 3    the same one again
 *   npm run drill -- --check         each of them: does its alert fire, and how soon?
 *   npm run drill -- --pictures      pictures of the dashboards, into docs/dashboards
 */
import { once } from 'node:events';
import { stdin } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { table } from '../../scripts/markdown.ts';
import { description } from '../../scripts/topology/description.ts';
import { startTopology, type Topology } from '../../scripts/topology.ts';
import { checkTopology } from '../check-topology.ts';
import { INCIDENTS, type Incident } from './incidents.ts';
import { observed } from './observed.ts';
import { takePictures } from './pictures.ts';

/** So that payouts end within minutes, whatever happens to them. */
const SHORT_WAITS = {
  PAYOUTS_CONFIRMATION_WINDOW: '20s',
  PAYOUTS_POLL_FIRST: '3s',
  PAYOUTS_POLL_MAX: '10s',
};
/** Time in which everything works, to compare with. */
const BEFORE_MS = 60_000;
const ALERT_WITHIN_MS = 600_000;
const ENDS_WITHIN_MS = 600_000;
const LOOK_EVERY_MS = 2_000;

const say = (line: string) => console.log(line);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      incident: { type: 'string' },
      check: { type: 'boolean', default: false },
      pictures: { type: 'boolean', default: false },
    },
  });
  const number = values.incident === undefined ? undefined : Number(values.incident);
  const chosen = INCIDENTS[(number ?? Math.floor(Math.random() * INCIDENTS.length) + 1) - 1];
  if (chosen === undefined) throw new Error(`--incident must be from 1 to ${INCIDENTS.length}`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const topology = await startTopology({ say, workerEnvironment: SHORT_WAITS });
  const client = await topology.connectClient();
  try {
    // The first payouts wait for a token and for the first lease.
    await checkTopology(topology, say);
    if (values.pictures) await takePictures(topology, say);
    else if (values.check) await checkAll(topology, client);
    else await drill(topology, chosen);
  } finally {
    await client.connection.close();
    await topology.stop();
  }
}

async function drill(topology: Topology, incident: Incident): Promise<void> {
  const { prometheus, stream, running } = await observed(topology, 'drill');
  say(`\n${description(topology)}\nPrometheus    ${prometheus.url}`);
  say('\nA payout starts every second. Everything works now; an incident begins within two minutes.');
  say('Find its cause with Prometheus and docs/alerts.md. Then press Enter.');
  await sleep(BEFORE_MS * (1 + Math.random()));
  const repair = await incident.begin(topology);
  const beganMs = Date.now();
  await once(stdin, 'data');
  stdin.destroy();
  say(`\nThe cause: ${incident.cause}.`);
  say(`It began ${Math.round((Date.now() - beganMs) / 1_000)} s ago. Its alert is ${incident.alert}.`);
  say(`Firing now: ${(await prometheus.firing()).join(', ') || 'nothing'}.\nrepairing …`);
  await repair();
  stream.stop();
  await running;
  await prometheus.stop();
}

async function checkAll(topology: Topology, client: Client): Promise<void> {
  const rows: string[][] = [];
  for (const incident of INCIDENTS) {
    say(`${incident.name}: ${incident.cause} …`);
    const { prometheus, stream, running } = await observed(topology, incident.name);
    await sleep(BEFORE_MS);
    const before = await prometheus.firing();
    if (before.includes(incident.alert)) throw new Error(`${incident.alert} fires before the incident`);
    const repair = await incident.begin(topology);
    const beganMs = Date.now();
    const isFiring = async () => (await prometheus.firing()).includes(incident.alert);
    if (!(await within(ALERT_WITHIN_MS, isFiring))) throw new Error(`${incident.alert} does not fire`);
    const seconds = Math.round((Date.now() - beganMs) / 1_000);
    const known = [...before, incident.alert];
    const others = (await prometheus.firing()).filter((name) => !known.includes(name));
    say(`  ${incident.alert} fires after ${seconds} s; also: ${others.join(', ') || 'nothing'}`);
    rows.push([incident.cause, incident.alert, `${seconds} s`, others.join(', ') || '–']);
    await repair();
    stream.stop();
    await running;
    await prometheus.stop();
    const areEnded = async () =>
      (await client.workflow.count("WorkflowType = 'payout' AND ExecutionStatus = 'Running'")).count === 0;
    if (!(await within(ENDS_WITHIN_MS, areEnded))) throw new Error(`payouts of ${incident.name} do not end`);
  }
  say(`\n${table(['incident', 'alert', 'fires after', 'others that fire then'], rows)}`);
}

async function within(limitMs: number, isTrue: () => Promise<boolean>): Promise<boolean> {
  for (const untilMs = Date.now() + limitMs; Date.now() < untilMs; await sleep(LOOK_EVERY_MS))
    if (await isTrue().catch(() => false)) return true;
  return false;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
