/** Measures the kills of the production topology, and writes docs/kill-table.md. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { SERVER_VERSION } from '../../scripts/setup/go-programs.ts';
import { startTopology, type TopologyOptions } from '../../scripts/topology.ts';
import { checkTopology } from '../check-topology.ts';
import { KILLS, type Kill } from './kills.ts';
import { type KillReport, measureKill } from './measure.ts';

export const KILL_TABLE_PAGE = join(import.meta.dirname, '../../docs/kill-table.md');
/** The figures of the page: a run replaces those that it measured. */
const FIGURES = join(import.meta.dirname, '../../docs/kill-table.json');
/** Starts come one second apart, so a shorter time without a create is none. */
const NO_PAUSE_MS = 2_500;
/** Smaller than the WAL that PostgreSQL keeps plus what a run writes would be too small. */
const SMALL_DISK = '2g';
/** So that every payout ends within minutes, whatever happens to it. */
const SHORT_WAITS = {
  PAYOUTS_CONFIRMATION_WINDOW: '20s',
  PAYOUTS_POLL_FIRST: '3s',
  PAYOUTS_POLL_MAX: '10s',
};

export interface KillOptions {
  /** Empty: all. */
  names: readonly string[];
  /** Also writes the page. */
  write: boolean;
  say: (line: string) => void;
}

const rowSchema = z.union([
  z.object({ name: z.string(), what: z.string(), skipped: z.string() }),
  z.object({
    name: z.string(),
    what: z.string(),
    started: z.number(),
    pauseMs: z.number(),
    goesOnAfterMs: z.number(),
    lost: z.array(z.string()),
    paidTwice: z.array(z.string()),
    wrong: z.array(z.string()),
    reviewed: z.number(),
  }),
]);
type Row = z.output<typeof rowSchema>;
const figuresSchema = z.object({ cores: z.number(), rows: z.array(rowSchema) });

/** Returns whether no payout was lost or paid twice. Throws if a name is unknown. */
export async function runKills({ names, write, say }: KillOptions): Promise<boolean> {
  const unknown = names.filter((name) => !KILLS.some((kill) => kill.name === name));
  if (unknown.length > 0)
    throw new Error(
      `no such kill: ${unknown.join(', ')}. There are ${KILLS.map(({ name }) => name).join(', ')}`,
    );
  const kills = KILLS.filter(({ name }) => names.length === 0 || names.includes(name));
  // Everything that was started ends with this process; the small disk does, too.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const [onSmallDisk, others] = [true, false].map((small) =>
    kills.filter(({ name }) => (name === 'disk-full') === small),
  );
  const rows = [...(await measured({ say }, others ?? [])), ...(await withSmallDisk(say, onSmallDisk ?? []))];
  say(`\n${tableOf(inOrder(rows))}`);
  if (write) writePage(rows);
  return rows.every((row) => 'skipped' in row || problemsOf(row).length === 0);
}

/** With the figures of earlier runs for what was not measured now. */
function writePage(rows: readonly Row[]): void {
  const known = existsSync(FIGURES) ? readFigures().rows : [];
  const others = known.filter(({ name }) => rows.every((row) => row.name !== name));
  const figures = { cores: availableParallelism(), rows: inOrder([...rows, ...others]) };
  writeFileSync(FIGURES, `${JSON.stringify(figures, null, 2)}\n`);
  writeFileSync(KILL_TABLE_PAGE, killTablePage());
}

export function readFigures(): z.output<typeof figuresSchema> {
  return figuresSchema.parse(JSON.parse(readFileSync(FIGURES, 'utf8')));
}

function inOrder(rows: readonly Row[]): Row[] {
  return KILLS.flatMap(({ name }) => rows.filter((row) => row.name === name));
}

/** In one topology, one after the other. */
async function measured(options: TopologyOptions, kills: readonly Kill[]): Promise<Row[]> {
  if (kills.length === 0) return [];
  const { say } = options;
  const topology = await startTopology({ ...options, workerEnvironment: SHORT_WAITS });
  const client = await topology.connectClient();
  const rows: Row[] = [];
  try {
    // The first payouts wait for a token and for the first lease.
    await checkTopology(topology, say);
    for (const kill of kills) {
      say(`${kill.name}: ${kill.what} …`);
      const report = await measureKill(topology, client, kill);
      say(`  ${JSON.stringify({ ...report, load: Math.round(loadavg()[0] ?? 0) })}`);
      rows.push(report);
    }
    return rows;
  } finally {
    await client.connection.close();
    await topology.stop();
  }
}

/** A disk of its own in memory, so that it can be full. Only root may mount one. */
async function withSmallDisk(say: KillOptions['say'], kills: readonly Kill[]): Promise<Row[]> {
  if (kills.length === 0) return [];
  const folder = mkdtempSync(join(tmpdir(), 'payouts-small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK}`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch {
    rmSync(folder, { recursive: true });
    return kills.map(({ name, what }) => ({
      name,
      what,
      skipped: 'not measured: only root may mount a small disk',
    }));
  }
  const unmount = () => {
    // Lazily: an interrupted run leaves a database that ends a moment later.
    execFileSync('umount', ['--lazy', folder], { stdio: 'pipe' });
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', unmount);
  try {
    return await measured({ say, databaseFolder: folder }, kills);
  } finally {
    process.off('exit', unmount);
    unmount();
  }
}

export function problemsOf({ lost, paidTwice, wrong }: KillReport): string[] {
  return [...lost, ...paidTwice, ...wrong];
}

function tableOf(rows: readonly Row[]): string {
  const head = ['what happens', 'payouts', 'longest pause', 'resumes after', 'reviews', 'lost', 'paid twice'];
  const cells = rows.map((row) =>
    'skipped' in row
      ? [row.what, row.skipped, '', '', '', '', '']
      : [
          row.what,
          `${row.started}`,
          seconds(row.pauseMs),
          row.pauseMs < NO_PAUSE_MS ? 'no pause' : seconds(row.goesOnAfterMs),
          `${row.reviewed}`,
          `${row.lost.length}`,
          `${row.paidTwice.length}`,
        ],
  );
  const widths = head.map((title, at) => Math.max(title.length, ...cells.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n');
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** The page with the figures of the last runs. */
export function killTablePage(): string {
  const { cores, rows } = readFigures();
  return `# Kill table

\`npm run topology -- --kills --write\` writes this page. Don't edit it.

A payout starts every second over HTTP on the production topology: Temporal server ${SERVER_VERSION} (two frontends, two history
nodes, two matching nodes, one worker) on PostgreSQL 15, three workers and two API servers. Everything runs on one machine with
${cores} cores. The simulator's ledger shows what was paid, and each result is compared with it.

${tableOf(rows)}

Killed parts start again after 5 s; the standby is promoted after 5 s.

- **longest pause**: the longest time without a create call, from the event on.
- **resumes after**: the time from the event to the end of that pause. Less than ${NO_PAUSE_MS / 1_000} s is no pause: payouts start a second apart.
- **reviews**: payouts that went to review, which the run resolved as an operator would.
- **lost**: payouts without an outcome. **Paid twice**: payouts for which money left more than once.

The workers use short times: \`PAYOUTS_CONFIRMATION_WINDOW=20s\`, \`PAYOUTS_POLL_FIRST=3s\` and \`PAYOUTS_POLL_MAX=10s\`.
\`npm run topology -- --kills worker,frontend\` measures only these rows and writes nothing.

An asynchronous standby may lack the last transactions. If you promote one, follow
[Temporal's database was restored](operations.md#temporals-database-was-restored).
`;
}
