/** A loop over a PostgreSQL table: each process claims a due row and a slot of the rate limit, and makes the row's call. */
import pg from 'pg';
import { z } from 'zod';
import type { Peer } from '../peer.ts';
import * as provider from '../provider.ts';
import { backoffMs, settings } from '../settings.ts';

const IDLE_MS = 100;
/** Calls of one process that wait for their response. */
const AT_ONCE = 20;

const SCHEMA = `
  create table if not exists payouts (
    id text primary key,
    scenario text not null,
    step text not null default 'quote',
    lock text,
    next_at timestamptz not null default now(),
    attempts int not null default 0,
    outcome text,
    ended_at timestamptz
  );
  create index if not exists due on payouts (next_at) where outcome is null;
  create table if not exists limiter (next_at timestamptz not null);
  insert into limiter select now() where not exists (select from limiter);`;

/** The claim ends by itself if the process dies: the row is due again after the lease. */
const CLAIM = `
  with due as (
    select id from payouts where outcome is null and next_at <= now()
    order by array_position(array['create', 'detail', 'order', 'quote'], step), next_at
    limit 1 for update skip locked
  ), slot as (
    update limiter set next_at = greatest(next_at, clock_timestamp()) + $1 * interval '1 ms'
    where exists (select from due) returning next_at - $1 * interval '1 ms' as at
  )
  update payouts set next_at = now() + $2 * interval '1 ms', attempts = attempts + 1
  from due, slot where payouts.id = due.id
  returning payouts.*, extract(epoch from slot.at - clock_timestamp())::float * 1000 as wait_ms`;

const rowSchema = z.object({
  id: z.string(),
  scenario: z.string(),
  step: z.enum(['quote', 'create', 'order', 'detail']),
  lock: z.string().nullable(),
  attempts: z.number(),
  wait_ms: z.number(),
});
type Row = z.output<typeof rowSchema>;

const pool = new pg.Pool({ connectionString: settings.SERVER, max: AT_ONCE });

/** Attempts start again with each step. */
function go(id: string, step: Row['step'], afterMs: number, lock?: string) {
  return pool.query(
    `update payouts set step = $2, attempts = 0, lock = coalesce($3, lock),
       next_at = now() + $4 * interval '1 ms' where id = $1`,
    [id, step, lock, afterMs],
  );
}

async function step(row: Row): Promise<void> {
  const { id, attempts, lock } = row;
  if (row.step === 'quote') {
    await go(id, 'create', 0, await provider.quote(row));
  } else if (row.step === 'create') {
    await (attempts > 1 ? provider.createOnce(row, lock ?? '') : provider.create(row, lock ?? ''));
    await go(id, 'order', settings.POLL_MS);
  } else if (row.step === 'order') {
    const isFinal = (await provider.order(row))?.end !== undefined;
    await go(id, isFinal ? 'detail' : 'order', isFinal ? 0 : settings.POLL_MS);
  } else {
    const outcome = await provider.detail(row);
    await pool.query('update payouts set outcome = $2, ended_at = clock_timestamp() where id = $1', [
      id,
      outcome,
    ]);
  }
}

async function work(row: Row): Promise<void> {
  try {
    await step(row);
  } catch (error) {
    if (error instanceof provider.LockExpired) await go(row.id, 'quote', 0);
    else
      await pool.query(`update payouts set next_at = now() + $2 * interval '1 ms' where id = $1`, [
        row.id,
        backoffMs(row.attempts),
      ]);
  }
}

async function loop(): Promise<void> {
  const spacingMs = 1_000 / settings.CALLS_PER_SECOND;
  const leaseMs = 2 * settings.CALL_TIMEOUT_MS + 5_000;
  let open = 0;
  for (;;) {
    const { rows } = open < AT_ONCE ? await pool.query(CLAIM, [spacingMs, leaseMs]) : { rows: [] };
    const [row] = z.array(rowSchema).parse(rows);
    if (row === undefined) {
      await provider.sleep(IDLE_MS);
      continue;
    }
    await provider.sleep(Math.max(0, row.wait_ms));
    open += 1;
    void work(row).finally(() => {
      open -= 1;
    });
  }
}

const endedSchema = z.array(z.object({ id: z.string(), outcome: z.string(), atMs: z.number() }));

export const table: Peer = {
  async work() {
    void loop();
  },
  async front() {
    await pool.query(SCHEMA);
    return {
      start: async ({ id, scenario }) => {
        const text = 'insert into payouts (id, scenario) values ($1, $2) on conflict do nothing';
        await pool.query(text, [id, scenario]);
      },
      notify: async (id) => {
        const text = "update payouts set next_at = now() where id = $1 and step = 'order' and attempts = 0";
        await pool.query(text, [id]);
      },
      ended: async () => {
        const { rows } = await pool.query(
          `select id, outcome, extract(epoch from ended_at)::float * 1000 as "atMs"
           from payouts where outcome is not null`,
        );
        return endedSchema.parse(rows);
      },
    };
  },
};
