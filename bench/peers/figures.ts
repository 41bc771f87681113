/** The schema of the figures: for each tool, the runs that were measured. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { SUBJECTS } from './subject.ts';

export const FIGURES_FILE = join(import.meta.dirname, 'figures.json');

const count = z.number().int().min(0);
const about = { measuredAt: z.iso.datetime(), commit: z.string() };

const runs = {
  limit: z.object({
    ...about,
    payouts: count,
    maxCallsInAnySecond: count,
    answered429: count,
    utilization: z.number(),
    callsPerPayout: z.number(),
    lockToCreate: z.object({ p50: z.number(), p99: z.number() }),
    finalToEnded: z.object({ p50: z.number(), p99: z.number() }),
  }),
  unlimited: z.object({ ...about, payouts: count, payoutsPerSecond: z.number() }),
  faults: z.object({
    ...about,
    payouts: count,
    faults: count,
    kills: count,
    paidTwice: count,
    lost: count,
    wrong: count,
    /** The tool gave up, and no order exists. */
    notCreated: count,
    /** The part of `lost` for which an operator has to decide. */
    inReview: count,
  }),
  kill: z.object({ ...about, open: count, recoveryMs: z.number(), longestGapMs: z.number() }),
  waiting: z.object({
    ...about,
    open: count,
    /** MiB, of all three. */
    workers: z.number(),
    server: z.number(),
    /** CPU time, in ms per second. */
    idleWorkers: z.number(),
    idleServer: z.number(),
    /** Absent if the server does not count. */
    idlePerSecond: z.number().optional(),
  }),
};

export type RunName = keyof typeof runs;
export type RunFigures = { [Name in RunName]: Omit<z.output<(typeof runs)[Name]>, keyof typeof about> };
export const RUN_NAMES = ['limit', 'unlimited', 'faults', 'kill', 'waiting'] as const;

const subjectSchema = z.object(runs).partial();
export const figuresSchema = z.partialRecord(z.enum(SUBJECTS), subjectSchema);
export type Figures = z.output<typeof figuresSchema>;

export function readFigures(): Figures {
  return existsSync(FIGURES_FILE) ? figuresSchema.parse(JSON.parse(readFileSync(FIGURES_FILE, 'utf8'))) : {};
}
