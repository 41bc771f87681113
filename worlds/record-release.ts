/**
 * `npm run record-release -- GENERATION`: adds what later versions are tested against to `test/histories`: the workflow
 * code of this version, and histories of simulated worlds. Existing files are never rewritten.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { DataConverter, Payload } from '@temporalio/common';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { bundledWorkflows } from '../scripts/programs.ts';
import { bundleWorkflows } from '../src/workers/workflow-bundle.ts';
import { runSeed } from './payouts/run-seed.ts';
import { loadDataConverter, loadWorkflows } from './sdk.ts';
import { type Entry, EventType, exported } from './temporal/history.ts';
import type { Run } from './temporal/run.ts';

const HISTORIES = join(import.meta.dirname, '../test/histories');
/** As `historyToJSON` writes a payload. */
const payloadSchema = z.object({ metadata: z.record(z.string(), z.string()), data: z.string().default('') });
/** Longer histories repeat what shorter ones show. */
const MAX_EVENTS = 300;

const program = new Command('record-release')
  .description('adds the workflow code and simulated histories of this version to test/histories')
  .argument('<generation>', 'the number of this generation of the corpus', wholeNumber)
  .option('--seeds <count>', 'worlds from which histories are chosen', wholeNumber, 1_000)
  .parse();
const [generation] = program.processedArgs;
const { seeds } = program.opts<{ seeds: number }>();

const workflows = await loadWorkflows(await bundledWorkflows());
/** How many of the kept histories show a transition: one event after another. */
const shown = new Map<string, number>();
let kept: Run[] = [];
let converter: DataConverter | undefined;
for (let seed = 1; seed <= seeds; seed += 1) {
  const { runs, violations, converter: reader } = await runSeed(workflows, seed);
  converter = reader;
  if (violations.length > 0) throw new Error(`seed ${seed}: ${violations.join('; ')}`);
  for (const run of runs) if (isSuitable(run) && adds(run)) keep(run);
}
// A history whose transitions others show is dropped, the longest first.
for (const run of kept.toSorted((one, other) => other.entries.length - one.entries.length))
  if (transitionsOf(run).every((transition) => count(transition) > 1)) drop(run);
const { payloadCodecs } = loadDataConverter(converter);
const lines = await Promise.all(kept.map(lineOf));
add(`v${generation}-workflows.js.gz`, gzipSync((await bundleWorkflows()).code, { level: 9 }));
add(`v${generation}-simulated.ndjson.gz`, gzipSync(lines.join('\n'), { level: 9 }));
console.log(`${kept.length} histories of ${seeds} worlds, with ${shown.size} transitions`);

function isSuitable({ entries, isRunning }: Run): boolean {
  return !isRunning && entries.length <= MAX_EVENTS;
}

function adds(run: Run): boolean {
  return transitionsOf(run).some((transition) => count(transition) === 0);
}

function keep(run: Run): void {
  for (const transition of transitionsOf(run)) shown.set(transition, count(transition) + 1);
  kept.push(run);
}

function drop(run: Run): void {
  for (const transition of transitionsOf(run)) shown.set(transition, count(transition) - 1);
  kept = kept.filter((other) => other !== run);
}

function count(transition: string): number {
  return shown.get(transition) ?? 0;
}

function transitionsOf({ entries, started }: Run): string[] {
  const names = entries.map(nameOf);
  const type = started.workflowType?.name;
  return [...new Set(names.map((name, at) => `${type}: ${names[at - 1]} > ${name}`))];
}

/** With plain payloads, which compress well and replay without keys. */
async function lineOf({ entries }: Run): Promise<string> {
  return JSON.stringify(await decoded(JSON.parse(historyToJSON(exported(entries)))));
}

async function decoded(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map(decoded));
  const payload = payloadSchema.safeParse(value);
  if (payload.success) return decodedPayload(payload.data);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(async ([key, inner]) => [key, await decoded(inner)]);
  return Object.fromEntries(await Promise.all(fields));
}

async function decodedPayload({ metadata, data }: z.output<typeof payloadSchema>): Promise<unknown> {
  let payloads: Payload[] = [{ metadata: mapValues(metadata, fromBase64), data: fromBase64(data) }];
  for (const codec of payloadCodecs) payloads = await codec.decode(payloads);
  const [plain] = payloads;
  return {
    metadata: mapValues(plain?.metadata ?? {}, toBase64),
    data: toBase64(plain?.data ?? new Uint8Array()),
  };
}

function mapValues<T, R>(fields: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, map(value)]));
}

function fromBase64(text: string): Uint8Array {
  return Buffer.from(text, 'base64');
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function nameOf({ type, event }: Entry): string {
  const {
    activityTaskScheduledEventAttributes: activity,
    markerRecordedEventAttributes: marker,
    workflowExecutionSignaledEventAttributes: signal,
    workflowExecutionUpdateAcceptedEventAttributes: update,
    startChildWorkflowExecutionInitiatedEventAttributes: child,
  } = event;
  const what =
    activity?.activityType?.name ??
    marker?.markerName ??
    signal?.signalName ??
    update?.acceptedRequest?.input?.name ??
    child?.workflowType?.name ??
    '';
  return `${EventType[type]} ${what}`.trim();
}

function add(name: string, bytes: Buffer): void {
  const file = join(HISTORIES, name);
  if (existsSync(file)) throw new Error(`${name} exists: a recorded file never changes`);
  writeFileSync(file, bytes);
  appendFileSync(
    join(HISTORIES, 'SHA256SUMS'),
    `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`,
  );
}

function wholeNumber(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError('must be a whole number of at least 1');
  return number;
}
