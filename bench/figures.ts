/** The schema of the figures: one object with a key for each part that was run. */
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

const count = z.number().int().min(0);
const ms = z.number().min(0);
/** The settings of a part, stored with its figures. */
const settings = z.record(z.string(), z.unknown());

/** When and where a part was measured. */
const about = z.object({
  measuredAt: z.iso.datetime(),
  /** Absent in the oldest figures. */
  commit: z.string().optional(),
  node: z.string(),
  engine: z.string(),
  machine: z.string(),
  /** The share of the full size; figures below 1 are a trial. */
  scale: z.number(),
});
export type About = z.output<typeof about>;

const rateLimitRun = z.object({
  /** Calls served over limit × time, without the first and the last second. */
  utilisation: z.number(),
  answered429: count,
  /** How many of them were create calls. */
  creates429: count,
  maxCallsInAnySecond: count,
  callsPerPayout: z.number(),
  callsByOperation: z.record(z.string(), count),
  payoutsPerSecond: z.number(),
  paidOnce: count,
  paidTwice: count,
  /** For each second of the run, the most calls in a sliding second that ended in it. */
  callsInSlidingSecond: z.array(count),
});
const backlogRun = z.object({
  lockToCreateP50: ms,
  lockToCreateP99: ms,
  requotes: z.number(),
  answered429: count,
  /** The 0th to the 100th percentile. */
  lockToCreate: z.array(ms),
});
const handoverRun = z.object({
  /** The longest gap between two calls of a trial: the median, the highest, and all of them. */
  gapP50: ms,
  gapMax: ms,
  gaps: z.array(ms),
  /** The number in all trials. */
  answered429: count,
});
const byApplication = z.record(z.string(), z.number());
const loadRun = z.object({
  /** Accepted requests of the callers. */
  perSecond: z.number(),
  p50: ms,
  p99: ms,
  /** Highest resident memory of the API server during the run, MiB. */
  rss: z.number(),
});
const loadSubject = loadRun.extend({
  /** While junk is sent from other connections. */
  flooded: loadRun,
  /** With the flood divided by without it, in the same round. Like all values, the median of the rounds. */
  ratio: loadRun,
  /** Requests of the callers that were not accepted, in all rounds. */
  failed: count,
});
const eventsRun = z.object({
  /** From the start to the end of a payout. */
  timeP50: ms,
  timeP99: ms,
  eventsPerPayout: z.number(),
  /** Of the worker to Temporal, without long polls; deliveries included. */
  requestsPerPayout: z.number(),
});
const timeRatio = z.object({ timeP50: z.number(), timeP99: z.number() });
const engineRun = z.object({
  eventsPerPayout: z.number(),
  /** At the same pace for all subjects. */
  serverCpuPerPayout: ms,
  workerCpuPerPayout: ms,
  serverCpuAtFullSpeed: ms,
  workerCpuAtFullSpeed: ms,
  payoutsPerSecondUnlimited: z.number(),
});

const parts = {
  rateLimit: rateLimitRun.extend({
    jittered: rateLimitRun,
    baseline: rateLimitRun,
  }),
  backlog: backlogRun.extend({ baseline: backlogRun }),
  handover: z.object({ killed: handoverRun, stopped: handoverRun, frozen: handoverRun }),
  apps: z.object({
    utilisation: byApplication,
    answered429: byApplication,
    maxCallsInAnySecond: byApplication,
    paidOnce: count,
    paidTwice: count,
    /** The number of distinct processes that own a rate limit. */
    owners: count,
  }),
  polling: z.object({
    detectP50: ms,
    detectP99: ms,
    leastPossibleP50: ms,
    leastPossibleP99: ms,
    pollsPerPayout: z.number(),
    answered429: count,
    utilisation: z.number(),
    /** The 0th to the 100th percentile. */
    detect: z.array(ms),
    leastPossible: z.array(ms),
  }),
  engine: engineRun.extend({
    /** A bare workflow of four activities. */
    baseline: engineRun,
    /** The same, with its activities on a separate queue. */
    queued: engineRun,
    /** The same, with a wait for a signal in between. */
    waiting: engineRun,
  }),
  waiting: z.object({
    openPayouts: count,
    /** MiB. */
    workerRss: z.number(),
    workerRssAfterResume: z.number(),
    /** From the start of the new worker process until every payout has answered a query there. */
    resumeAll: ms,
    resumeWorkerReady: ms,
  }),
  api: z.object({
    starts: loadSubject,
    reads: loadSubject,
    notifications: loadSubject,
    /** Before the first request, MiB. */
    idleRss: z.number(),
    junkPerSecond: z.number(),
    /** By status. */
    junkAnswers: z.record(z.string(), count),
  }),
  connections: z.object({
    /** Accepted requests of another address. */
    perSecond: z.number(),
    perSecondStalled: z.number(),
    /** The median of the rounds. */
    ratio: z.number(),
    /** Stalled connections that were open at the end of the measurement. */
    held: count,
    /** Highest resident memory of the API server, MiB. */
    rss: z.number(),
    rssStalled: z.number(),
    failed: count,
  }),
  events: z.object({
    /** Without an endpoint, with one that answers at once, and with one that never answers. */
    none: eventsRun,
    healthy: eventsRun,
    dead: eventsRun,
    /** To a payout without an endpoint, in the same run. */
    ratios: z.object({ healthy: timeRatio, dead: timeRatio }),
    /** History events of the publishing payout, and of the delivery. */
    eventsPerDelivery: z.object({ payout: z.number(), delivery: z.number() }),
    requestsPerDelivery: z.number(),
  }),
  startup: z.object({
    /** All files of the folder that the image contains, without Node and its operating system. */
    imageMiB: count,
    /** From the start of the process, the median of the rounds. */
    ready: ms,
    firstCall: ms,
    longestFirstCall: ms,
    /** User and system time of the process until then. */
    cpu: ms,
  }),
  fleet: z.object({
    /** From the start of the processes until all take tasks, and until each lease has an owner. */
    ready: ms,
    owned: ms,
    idle: z.object({
      /** Requests per second to Temporal, of all processes, by kind. */
      requests: z.record(z.string(), z.number()),
      /** The resident memory of the largest process, MiB. */
      rss: z.number(),
      /** CPU time of all processes, and of the server, in ms per second. */
      workersCpu: ms,
      serverCpu: ms,
    }),
    /** From the last start of a rolling restart until the leases are level. */
    rolled: z.object({ restarted: ms, levelAfter: ms }),
    /** After all processes but one were killed. */
    lost: z.object({ ownedAfter: ms, mostRequestsPerSecond: count }),
  }),
};

export type PartName = keyof typeof parts;
export type PartFigures = { [Name in PartName]: z.output<(typeof parts)[Name]> & { settings: object } };
export const PART_NAMES = Object.keys(parts).filter(isPart);

export const figuresSchema = z
  .object({
    rateLimit: parts.rateLimit.extend({ settings, ...about.shape }),
    backlog: parts.backlog.extend({ settings, ...about.shape }),
    handover: parts.handover.extend({ settings, ...about.shape }),
    apps: parts.apps.extend({ settings, ...about.shape }),
    polling: parts.polling.extend({ settings, ...about.shape }),
    engine: parts.engine.extend({ settings, ...about.shape }),
    waiting: parts.waiting.extend({ settings, ...about.shape }),
    api: parts.api.extend({ settings, ...about.shape }),
    connections: parts.connections.extend({ settings, ...about.shape }),
    events: parts.events.extend({ settings, ...about.shape }),
    startup: parts.startup.extend({ settings, ...about.shape }),
    fleet: parts.fleet.extend({ settings, ...about.shape }),
  })
  .partial();
export type Figures = z.output<typeof figuresSchema>;

export function isPart(name: string): name is PartName {
  return Object.hasOwn(parts, name);
}

/** Throws if the file does not match the schema. */
export function readFigures(file: string): Figures {
  return figuresSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/** The figures of a file that may not exist yet. */
export function earlierFigures(file: string | undefined): Figures {
  return file !== undefined && existsSync(file) ? readFigures(file) : {};
}

/** Puts each list of numbers on one line. */
export function figuresText(figures: Figures): string {
  const text = JSON.stringify(figures, null, 2);
  const compact = text.replace(/\[[\s\d.,e-]+\]/g, (list) => list.replace(/\s+/g, '').replaceAll(',', ', '));
  return `${compact}\n`;
}
