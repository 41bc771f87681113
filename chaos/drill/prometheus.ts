/** A Prometheus with the alerts of `deploy/prometheus`, on the workers and the API servers of the topology. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { z } from 'zod';
import { Child } from '../../scripts/child-process.ts';
import { freePorts, loopback } from '../../scripts/dev-server/ports.ts';
import { isListening } from '../../scripts/dev-server/readiness.ts';
import { findPrometheus } from '../../scripts/setup/prometheus.ts';
import { OUR_PROGRAMS } from '../../scripts/topology/settings.ts';
import type { Topology } from '../../scripts/topology.ts';

const RULES = join(import.meta.dirname, '../../deploy/prometheus/alerts.yml');
const SCRAPE_INTERVAL = '5s';

const alertsSchema = z.object({
  data: z.object({
    alerts: z.array(
      z.object({ labels: z.object({ alertname: z.string(), severity: z.string() }), state: z.string() }),
    ),
  }),
});

export class Prometheus {
  readonly url: string;
  private readonly child: Child;
  private readonly folder: string;

  /** Starts without samples. Throws if Prometheus is not installed. */
  static async start(topology: Topology): Promise<Prometheus> {
    const found = await findPrometheus();
    if (found === undefined) throw new Error('Prometheus is not installed');
    const [port = 0] = await freePorts(1);
    const prometheus = new Prometheus(topology, found.prometheus, port);
    await prometheus.child.start();
    return prometheus;
  }

  private constructor(topology: Topology, program: string, port: number) {
    this.folder = mkdtempSync(join(topology.places.folder, 'prometheus-'));
    this.url = `http://${loopback(port)}`;
    const config = join(this.folder, 'prometheus.yml');
    // JSON is YAML.
    writeFileSync(config, JSON.stringify(configOf(topology), null, 2));
    this.child = new Child({
      ...{ name: 'prometheus', program, logFile: join(this.folder, 'log'), env: process.env },
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(this.folder, 'data')}`,
        `--web.listen-address=${loopback(port)}`,
      ],
      isReady: () => isListening(loopback(port)),
    });
  }

  /** The names of the alerts that fire. */
  async firing(): Promise<string[]> {
    const answer = await request(`${this.url}/api/v1/alerts`);
    const { alerts } = alertsSchema.parse(await answer.body.json()).data;
    const names = alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
    return [...new Set(names)].sort();
  }

  async stop(): Promise<void> {
    await this.child.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function configOf(topology: Topology) {
  const targets = (program: 'worker' | 'api', variable: string) =>
    Array.from(
      { length: OUR_PROGRAMS[program] },
      (_, at) => topology.child(`${program}-${at + 1}`).command.env[variable],
    );
  const credentials_file = join(topology.places.keysFolder, 'prometheus', 'metrics-key');
  return {
    global: { scrape_interval: SCRAPE_INTERVAL, evaluation_interval: SCRAPE_INTERVAL },
    scrape_configs: [
      {
        job_name: 'payouts-worker',
        static_configs: [{ targets: targets('worker', 'PAYOUTS_METRICS_LISTEN') }],
      },
      {
        ...{ job_name: 'payouts-api', authorization: { credentials_file } },
        static_configs: [{ targets: targets('api', 'PAYOUTS_API_LISTEN') }],
      },
    ],
    rule_files: [RULES],
  };
}
