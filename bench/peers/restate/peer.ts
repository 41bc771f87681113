/**
 * Restate: a workflow with a durable promise for the notification. Restate has no rate limit: as its guide teaches, a virtual
 * object gives each call its time.
 */
import { randomUUID } from 'node:crypto';
import * as restate from '@restatedev/restate-sdk';
import { z } from 'zod';
import type { Ended, Peer } from '../peer.ts';
import * as provider from '../provider.ts';
import { backoffMs, settings } from '../settings.ts';
import './with-resolvers.ts';

const limiter = restate.object({
  name: 'limiter',
  handlers: {
    /** Returns how long the caller waits for its turn, in ms. */
    reserve: async (context: restate.ObjectContext): Promise<number> => {
      const nowMs = await context.date.now();
      const atMs = Math.max(nowMs, (await context.get<number>('nextMs')) ?? 0);
      context.set('nextMs', atMs + 1_000 / settings.CALLS_PER_SECOND);
      return atMs - nowMs;
    },
  },
});

type Answer<T> = { value: T } | { isLockExpired: boolean };

/** Undefined: the lock has expired. `make` gets whether an earlier attempt may have been sent. */
async function called<T>(
  context: restate.WorkflowContext,
  name: string,
  make: (mayBeSent: boolean) => Promise<T>,
): Promise<{ value: T } | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const waitMs = await context.objectClient(limiter, 'provider').reserve();
    if (waitMs > 0) await context.sleep(waitMs);
    const execution = randomUUID();
    // Restate repeats a step that was interrupted. If this value is of an earlier execution, the call may have been sent.
    const begunBy = await context.run(`begin ${name}`, () => execution);
    const answer = await context.run(name, (): Promise<Answer<T>> => {
      return make(attempt > 1 || begunBy !== execution).then(
        (value) => ({ value }),
        (error: unknown) => ({ isLockExpired: error instanceof provider.LockExpired }),
      );
    });
    if ('value' in answer) return answer;
    if (answer.isLockExpired) return undefined;
    await context.sleep(backoffMs(attempt));
  }
}

const payout = restate.workflow({
  name: 'payout',
  handlers: {
    run: async (context: restate.WorkflowContext, request: provider.Payout): Promise<string> => {
      for (let created: unknown; created === undefined; ) {
        const lock = (await called(context, 'quote', () => provider.quote(request)))?.value ?? '';
        created = await called(context, 'create', (mayBeSent) =>
          mayBeSent ? provider.createOnce(request, lock) : provider.create(request, lock),
        );
      }
      await context.promise<boolean>('notified').get().orTimeout(settings.POLL_MS).catch(ignoreTimeout);
      const end = async () => (await provider.order(request))?.end ?? '';
      while (!(await called(context, 'order', end))?.value) await context.sleep(settings.POLL_MS);
      return (await called(context, 'detail', () => provider.detail(request)))?.value ?? '';
    },
    notified: async (context: restate.WorkflowSharedContext): Promise<void> => {
      await context.promise<boolean>('notified').resolve(true);
    },
  },
});

function ignoreTimeout(error: unknown): void {
  if (!(error instanceof restate.TimeoutError)) throw error;
}

/** Of the server: `ingress admin`. */
const [ingress = '', admin = ''] = settings.SERVER.split(' ');

async function post(url: string, body?: unknown): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text;
}

const rows = z.object({
  rows: z.array(
    z.object({
      target_service_key: z.string(),
      completion_result: z.string(),
      modified_at: z.string(),
    }),
  ),
});
const known = new Map<string, Ended>();

async function ended(): Promise<Ended[]> {
  const query = `select target_service_key, completion_result, modified_at from sys_invocation
    where target_service_name = 'payout' and target_handler_name = 'run' and status = 'completed'`;
  const all = rows.parse(JSON.parse(await post(`${admin}/query`, { query })));
  for (const { target_service_key: id, completion_result: result, modified_at: at } of all.rows) {
    if (known.has(id)) continue;
    const output = result === 'success' ? await outputOf(id) : 'ERROR';
    known.set(id, { id, outcome: output, atMs: Date.parse(at) });
  }
  return [...known.values()];
}

async function outputOf(id: string): Promise<string> {
  const response = await fetch(`${ingress}/restate/workflow/payout/${id}/output`);
  return z.string().parse(await response.json());
}

export const restatePeer: Peer = {
  async work() {
    await restate.serve({ services: [limiter, payout], port: settings.PORT });
  },
  async front() {
    return {
      start: async (request) => {
        await post(`${ingress}/payout/${request.id}/run/send`, request);
      },
      notify: async (id) => {
        await post(`${ingress}/payout/${id}/notified/send`);
      },
      ended,
    };
  },
};
