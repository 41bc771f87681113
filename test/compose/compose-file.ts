/** The compose file, read for the tests. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

export const ROOT = join(import.meta.dirname, '..', '..');

const serviceSchema = z.looseObject({
  image: z.string().optional(),
  build: z.union([z.string(), z.object({ context: z.string(), target: z.string() })]).optional(),
  command: z.array(z.string()).optional(),
  network_mode: z.string().optional(),
  networks: z.array(z.string()).default([]),
  user: z.string().optional(),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  restart: z.string(),
  stop_grace_period: z.string().default('10s'),
  deploy: z
    .object({
      replicas: z.number().default(1),
      resources: z.object({ limits: z.object({ cpus: z.string(), memory: z.string() }) }),
    })
    .optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
});

const fileSchema = z.looseObject({
  services: z.record(z.string(), serviceSchema),
  networks: z.record(z.string(), z.unknown()).default({}),
  volumes: z.record(z.string(), z.unknown()).default({}),
});

export type Service = z.output<typeof serviceSchema>;

/** As written, with anchors and merge keys resolved. */
export function readCompose(): unknown {
  return parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true });
}

export function composeFile() {
  return fileSchema.parse(readCompose());
}

export function services(): [string, Service][] {
  return Object.entries(composeFile().services);
}

/** Services that run from our image. */
export function ourServices(): [string, Service][] {
  return services().filter(([, { build }]) => build !== undefined);
}
