import { randomBytes } from 'node:crypto';
import { ApplicationFailure, Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import fastify, { type FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { tokenActivities } from '../../src/activities/tokens/token-activities.ts';
import {
  AuthorizationError,
  Authorizations,
  type AuthorizationsOptions,
} from '../../src/client/authorizations.ts';
import {
  authorizationWorkflowId,
  PAYOUTS_TASK_QUEUE,
  tokenTaskQueue,
  tokenWorkflowId,
} from '../../src/contract/ids.ts';
import { tokenStateQuery } from '../../src/contract/workflows.ts';
import { KeyRing, TokenSeal } from '../../src/encryption/key-ring.ts';
import { handleErrors } from '../../src/http/problems.ts';
import { PROCESS_RUNTIME } from '../../src/runtime/process.ts';
import { oauthRoutes } from '../../src/starters/api/oauth-routes.ts';
import { TokenRenewals } from '../../src/workers/tokens/token-renewals.ts';
import type { userAuthorization } from '../../src/workflows/tokens/user-authorization.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { resetBefore } from '../support/resets.ts';
import { simulatedWorkers } from '../support/simulated-workers.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { productWorkflows, VirtualWorld } from '../support/virtual-world.ts';

const OWNER = { environment: 'test', app: 'default' };
const BASE = '/v1/oauth/default';

let world: VirtualWorld;
let server: FastifyInstance;
let authorizations: Authorizations;
beforeAll(async () => {
  world = await VirtualWorld.start({ env: { PAYMENTS_CALL_TIMEOUT: '1m' } });
});
afterAll(() => world.stop());
beforeEach(() => serve());
afterEach(async () => {
  world.simulator.control.removeFaults();
  await server.close();
});

/** A separate API server, whose limits no other test has used up. */
async function serve(options: Partial<AuthorizationsOptions> = {}): Promise<void> {
  server = fastify();
  handleErrors(server);
  authorizations = new Authorizations({
    ...{ client: counted(world), environment: 'test', keys: undefined },
    ...options,
  });
  // It stands still, so that no limit is refilled on a slow machine.
  oauthRoutes(server, authorizations, new FakeClock());
}

async function begin(): Promise<{ state: string; cookie: string }> {
  const { url } = await authorizations.issue('default');
  const { headers } = await server.inject(url.pathname + url.search);
  const state = new URL(String(headers.location)).searchParams.get('state') ?? '';
  return { state, cookie: String(headers['set-cookie']).split(';')[0] ?? '' };
}

const requestCallback = ({ state, cookie }: { state: string; cookie: string }, code: string) =>
  server.inject({ url: `${BASE}/callback?${new URLSearchParams({ state, code })}`, headers: { cookie } });
/** Opens the same link again for as long as the answer is 503, as that answer says. */
const patientCallback = (attempt: { state: string; cookie: string }, code: string) =>
  eventually(async () => {
    const answer = await requestCallback(attempt, code);
    return answer.statusCode === 503 ? undefined : answer;
  });
const codeOf = (openId: string) => world.simulator.control.authorize({ appId: 'demo-app', openId }).code;
const exchanges = () =>
  world.simulator.control.calls().filter(({ operation }) => operation === 'oauthToken').length;

/** The types of the workflows that the server has started. Counted here, since the visibility of Temporal lags. */
const started: string[] = [];
const startedOf = (type: string) => started.filter((one) => one === type).length;

function counted({ client, namespace }: VirtualWorld): Client {
  const counting: WorkflowClientInterceptor = {
    async startWithDetails(input, next) {
      started.push(input.workflowType);
      return next(input);
    },
    async signalWithStart(input, next) {
      started.push(input.workflowType);
      return next(input);
    },
  };
  return new Client({
    connection: client.connection,
    namespace,
    interceptors: { workflow: [counting] },
  });
}

const outcomeOf = (workflowId: string) =>
  world.client.workflow.getHandle<typeof userAuthorization>(workflowId).result();

describe('H61 anonymous requests use few resources', () => {
  test('callbacks without an attempt of ours: no provider call, and nothing in Temporal', async () => {
    const { cookie } = await begin();
    const [calls, workflows] = [exchanges(), started.length];
    for (let i = 0; i < 200; i += 1) {
      const answer = await requestCallback({ state: `process.${'x'.repeat(47)}${i}`, cookie }, 'junk');
      expect(answer.statusCode).toBe(i < 20 ? 400 : 429);
    }
    expect(exchanges()).toBe(calls);
    expect(started.length).toBe(workflows);
  });

  test('requests without a link of ours: nothing in Temporal, and 429 after a burst', async () => {
    const before = started.length;
    for (let i = 0; i < 100; i += 1) {
      const query = i % 2 === 0 ? '' : `?link=process.${'x'.repeat(47)}${i}`;
      const answer = await server.inject(`${BASE}/authorize${query}`);
      expect(answer.statusCode).toBe(i < 20 ? 400 : 429);
    }
    expect(started.length).toBe(before);
    expect((await begin()).state, 'a valid link of the same address works').not.toBe('');
  });

  test("two hundred links: one fetch of the provider's page", async () => {
    const before = startedOf('authorizationLink');
    await Promise.all(Array.from({ length: 200 }, () => authorizations.issue('default')));
    expect(startedOf('authorizationLink')).toBe(before + 1);
  });

  test('callbacks with invalid codes: a limited number of exchanges; the others can be retried', async () => {
    const before = exchanges();
    const attempts = await Promise.all(Array.from({ length: 60 }, begin));
    const answers = await Promise.all(attempts.map((attempt) => requestCallback(attempt, 'junk')));
    const busy = answers.filter(({ statusCode }) => statusCode === 503);
    expect(busy.length).toBeGreaterThanOrEqual(30);
    expect(busy[0]?.headers['content-type']).toContain('application/problem+json');
    expect(busy[0]?.headers['retry-after']).toBeDefined();
    expect(exchanges() - before).toBe(60 - busy.length);
    const busyAnswers = attempts[answers.findIndex(({ statusCode }) => statusCode === 503)];
    if (!busyAnswers) throw new Error('none was turned away');
    expect((await patientCallback(busyAnswers, codeOf('later'))).statusCode).toBe(200);
  });

  test('links for unknown applications: a limited number of fetches, and known applications keep working', async () => {
    await begin();
    const before = startedOf('authorizationLink');
    const issued = await Promise.allSettled(
      Array.from({ length: 60 }, (_, at) => authorizations.issue(`made-up-${at}`)),
    );
    const busy = issued.filter(
      (one) =>
        one.status === 'rejected' && one.reason instanceof AuthorizationError && one.reason.kind === 'busy',
    );
    expect(busy.length).toBeGreaterThanOrEqual(30);
    expect(startedOf('authorizationLink') - before).toBeLessThanOrEqual(30);
    expect((await begin()).state).not.toBe('');
  });
});

describe('H61 a browser waits in bounded time', () => {
  test('504 while the exchange is in flight, which continues: the tokens arrive', async () => {
    await server.close();
    // Longer than a busy machine takes to begin the exchange.
    await serve({ outcomeWithinMs: 5_000 });
    const held = world.hold({ operation: 'oauthToken', times: 1 }, 'before');
    const attempt = await begin();
    const code = codeOf('patient');
    const answer = await patientCallback(attempt, code);
    expect(answer.statusCode, answer.body).toBe(504);
    expect(answer.headers['content-type']).toContain('application/problem+json');
    held.release();
    const renewal = world.client.workflow.getHandle(tokenWorkflowId('default', 'patient'));
    await eventually(() => renewal.query(tokenStateQuery).catch(() => undefined));
  });

  test('503 when no worker answers', async () => {
    const idle = await VirtualWorld.start({ idle: true });
    try {
      const keys = new KeyRing(new Map([['k1', randomBytes(32)]]));
      await server.close();
      await serve({ keys });
      const link = await authorizations.issue('default');
      await server.close();
      await serve({ keys, client: idle.client });
      const open = () => server.inject(link.url.pathname + link.url.search);
      const answer = await open();
      expect(answer.statusCode).toBe(503);
      expect(answer.headers['content-type']).toContain('application/problem+json');
      await server.close();
      await serve({ keys });
      expect((await open()).statusCode, 'the link is not used up').toBe(302);
    } finally {
      await idle.stop();
    }
  });
});

describe('H42 tokens from a code, which works only once', () => {
  test('a Workflow Reset does not send the code again', async () => {
    const openId = newPartnerOrderId();
    expect((await patientCallback(await begin(), codeOf(openId))).statusCode).toBe(200);
    const before = exchanges();
    const { workflowId } = await eventually(async () => {
      for await (const run of world.client.workflow.list({ query: "WorkflowType = 'userAuthorization'" }))
        if ((await outcomeOf(run.workflowId)).openId === openId) return run;
      return undefined;
    });
    await resetBefore(world, world.client.workflow.getHandle(workflowId), 'exchangeCode');
    await eventually(async () => ((await outcomeOf(workflowId)).outcome === 'UNCERTAIN' ? true : undefined));
    expect(exchanges()).toBe(before);
  });

  test('can be exchanged again if Temporal does not answer before the send', async () => {
    const never = () => Promise.reject(new Error('unavailable'));
    const seal = new TokenSeal(undefined, PROCESS_RUNTIME.random);
    for (const histories of [
      { isReset: never, startedAtMs: async () => 0, newerThan: never },
      { isReset: async () => false, startedAtMs: never, newerThan: never },
    ]) {
      const { exchangeCode } = tokenActivities({
        ...{ environment: 'test', app: 'default', seal, histories, sendWithinMs: 1_000 },
        ...{ claim: never, cache: () => undefined, handOver: never, runtime: PROCESS_RUNTIME },
        codes: seal,
        client: { applicationToken: never, refreshUserToken: never, exchangeCode: never },
      });
      const code = seal.seal('code', OWNER, 'code');
      const exchange = new MockActivityEnvironment().run(exchangeCode, OWNER, code);
      await expect(exchange).rejects.toMatchObject({ type: 'NOT_SENT' });
    }
  });

  test('are handed over as soon as Temporal accepts them', async () => {
    let failures = 3;
    const failing: WorkflowClientInterceptor = {
      async signalWithStart(input, next) {
        failures -= 1;
        if (failures >= 0) throw new Error('away');
        return next(input);
      },
    };
    const { connection } = world.client;
    const client = new Client({
      connection,
      namespace: world.namespace,
      interceptors: { workflow: [failing] },
    });
    const openId = newPartnerOrderId();
    const obtainedAtMs = world.clock.wallMs();
    const grant = { access: 'a', fingerprint: 'f', lifetimeMs: 3_600_000, obtainedAtMs, refresh: 'r' };
    const owner = { environment: 'test', app: 'default', openId };
    await new TokenRenewals(client, world.runtime).handOver(owner, grant);
    // A second handover, as happens when the answer to the first is lost.
    await new TokenRenewals(client, world.runtime).handOver(owner, grant);
    const state = await eventually(() =>
      world.client.workflow
        .getHandle(tokenWorkflowId('default', openId))
        .query(tokenStateQuery)
        .catch(() => undefined),
    );
    expect(state).toMatchObject({ renewals: 1, needsAttention: false });
  });

  test.each([
    ['NOT_STORED', 'NOT_STORED'],
    ['AMBIGUOUS', 'UNCERTAIN'],
    ['SOMETHING_NEW', 'UNCERTAIN'],
    ['REFUSED', 'REFUSED'],
  ])('an exchange that fails as %s is shown as %s', async (type, outcome) => {
    const idle = await VirtualWorld.start({ idle: true });
    const workers = simulatedWorkers(idle, await productWorkflows(), [
      {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowBundle: { codePath: 'loaded before' },
        activities: { prepareToken: async () => ({ callTimeoutMs: 1_000 }) },
      },
      {
        taskQueue: tokenTaskQueue('test', 'default', 'anonymous'),
        activities: {
          exchangeCode: async () => {
            throw ApplicationFailure.create({ type, message: 'as the test wants it' });
          },
        },
      },
    ]);
    try {
      const ended = await idle.client.workflow.execute<typeof userAuthorization>('userAuthorization', {
        taskQueue: PAYOUTS_TASK_QUEUE,
        workflowId: authorizationWorkflowId('default', newPartnerOrderId()),
        args: [{ environment: 'test', app: 'default', code: 'sealed' }],
      });
      expect(ended.outcome).toBe(outcome);
    } finally {
      workers.stop();
      await idle.stop();
    }
  });
});
