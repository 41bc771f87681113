/** The dashboards of `deploy/grafana/dashboards`, with the values of a range of time from Prometheus. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { request } from 'undici';
import { z } from 'zod';

const FOLDER = join(import.meta.dirname, '../../deploy/grafana/dashboards');
/** Every application. */
const ALL_APPS = '.*';

const dashboardSchema = z.object({
  title: z.string(),
  panels: z.array(
    z.object({
      title: z.string(),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })),
      fieldConfig: z.object({ defaults: z.object({ unit: z.string() }) }),
    }),
  ),
});

const rangeSchema = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});

/** In seconds since 1970. */
export interface Range {
  from: number;
  to: number;
  step: number;
}

export interface Series {
  name: string;
  /** The time in seconds since 1970, and the value. Without a value, there is no point. */
  points: readonly (readonly [number, number])[];
}

export interface Panel {
  title: string;
  /** Grafana's name of the unit. */
  unit: string;
  series: Series[];
}

export interface Dashboard {
  /** The name of its file, without its extension. */
  name: string;
  title: string;
  panels: Panel[];
}

/** The files, by name and without values. */
export function dashboardFiles() {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => ({
      name: basename(file, '.json'),
      ...dashboardSchema.parse(JSON.parse(readFileSync(join(FOLDER, file), 'utf8'))),
    }));
}

export async function dashboardsOf(prometheusUrl: string, range: Range): Promise<Dashboard[]> {
  const dashboards: Dashboard[] = [];
  for (const { name, title, panels } of dashboardFiles()) {
    const drawn: Panel[] = [];
    for (const { title, targets, fieldConfig } of panels) {
      const series: Series[] = [];
      for (const target of targets) series.push(...(await seriesOf(prometheusUrl, range, target)));
      drawn.push({ title, unit: fieldConfig.defaults.unit, series });
    }
    dashboards.push({ name, title, panels: drawn });
  }
  return dashboards;
}

async function seriesOf(
  prometheusUrl: string,
  { from, to, step }: Range,
  { expr, legendFormat }: { expr: string; legendFormat: string },
): Promise<Series[]> {
  const query = new URLSearchParams({
    query: expr.replaceAll('$app', ALL_APPS),
    ...{ start: `${from}`, end: `${to}`, step: `${step}` },
  });
  const { statusCode, body } = await request(`${prometheusUrl}/api/v1/query_range?${query}`);
  const text = await body.text();
  if (statusCode !== 200) throw new Error(`${expr}: ${text}`);
  return rangeSchema.parse(JSON.parse(text)).data.result.map(({ metric, values }) => ({
    name: legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_all, label) => metric[label] ?? ''),
    points: values
      .map(([at, value]) => [at, Number(value)] as const)
      .filter(([, value]) => Number.isFinite(value)),
  }));
}
