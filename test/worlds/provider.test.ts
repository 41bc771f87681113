/** The real client and the real simulator, in virtual time and in one process. */
import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type FaultInput,
  type InProcessAnswer,
  type InProcessSimulator,
  type NotificationRequest,
  type SettingsChange,
  type SimulatorControl,
  simulatorInProcess,
  startSimulator,
} from '../../simulator/index.ts';
import { type PaymentsClient, PaymentsError } from '../../src/payments/index.ts';
import type { PaymentsClientOptions } from '../../src/payments/options.ts';
import type { Timeouts, TransportOptions, WireRequest } from '../../src/payments/transport.ts';
import type { Clock } from '../../src/runtime/runtime.ts';
import { Random, randomness } from '../../worlds/engine/random.ts';
import { World } from '../../worlds/engine/world.ts';
import { SimulatedTransport, type Trip } from '../../worlds/provider/transport.ts';
import { clientFor, failureOf } from '../payments/support/client.ts';
import { CREATE, KEY, QUOTE } from '../payments/support/samples.ts';

const SHOP = 'https://shop.example/hook';
const CALM: Trip = { connectMs: 5, requestMs: 10, answerMs: 20, fate: 'arrives' };
const ROUND_TRIP_MS = 35;
const TIMEOUTS: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000, totalMs: 60_000 };
const APP = { appId: 'demo-app', appSecret: 'demo-secret' };

interface SceneOptions {
  seed?: number;
  settings?: SettingsChange;
  trip?: (request: WireRequest, random: Random) => Trip;
  deliver?: (notification: NotificationRequest, world: World) => Promise<number>;
  client?: Partial<PaymentsClientOptions>;
}

class Scene {
  readonly world: World;
  readonly simulator: InProcessSimulator;
  readonly client: PaymentsClient;
  readonly notifications: { atMs: number; notification: NotificationRequest }[] = [];
  readonly answers: InProcessAnswer[] = [];
  trip: (request: WireRequest) => Trip;
  cutOff = false;
  token = '';

  constructor({ seed = 1, settings, trip = () => CALM, deliver = async () => 200, client }: SceneOptions) {
    const world = new World({ seed });
    this.world = world;
    this.simulator = simulatorInProcess({
      runtime: { clock: world, random: randomness(new Random(seed + 1)) },
      settings,
      apps: [{ ...APP, notifyUrl: SHOP }],
      deliver: (notification) => {
        this.notifications.push({ atMs: world.now, notification });
        return deliver(notification, world);
      },
    });
    this.trip = (request) => trip(request, world.random);
    this.client = clientFor('https://provider.example', {
      ...APP,
      runtime: { clock: world, random: randomness(new Random(seed + 2)) },
      tokens: { token: async () => this.token },
      transport: (options) => this.transport(options),
      ...client,
    });
  }

  transport(options: TransportOptions): SimulatedTransport {
    const { world, simulator } = this;
    const request: InProcessSimulator['request'] = async (asked) => {
      const answer = await simulator.request(asked);
      this.answers.push(answer);
      return answer;
    };
    const isCutOff = () => this.cutOff;
    return new SimulatedTransport(options, {
      provider: { request },
      world,
      trip: (asked) => this.trip(asked),
      isCutOff,
    });
  }

  get control(): SimulatorControl {
    return this.simulator.control;
  }

  async signIn(): Promise<void> {
    this.token = (await this.world.finish(this.client.applicationToken())).accessToken;
  }

  /** What a payout does, up to its create. */
  async pay(partnerOrderId = KEY.partnerOrderId) {
    const { lockRateId } = await this.world.finish(this.client.quote(QUOTE));
    return this.world.finish(this.client.createPayout({ ...CREATE, partnerOrderId, lockRateId }));
  }

  async wait(ms: number): Promise<void> {
    await this.world.finish(this.world.sleep(ms));
  }
}

async function signedIn(options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene(options);
  await scene.signIn();
  return scene;
}

/** Real timers stand still; the real clock and randomness differ in each run. */
function elsewhere(atMs: number): void {
  vi.useFakeTimers({ now: atMs, toFake: ['setTimeout', 'setInterval', 'Date', 'performance'] });
  const random = vi.spyOn(Math, 'random').mockReturnValue((atMs % 1000) / 1000);
  onTestFinished(() => {
    vi.useRealTimers();
    random.mockRestore();
  });
}

describe('a payout in virtual time', () => {
  test('is quoted, created, paid, notified and queried, at the times that the delays add up to', async () => {
    const scene = await signedIn({ settings: { finalAfterMs: 3_000 } });
    const { world, client, control } = scene;
    const begunMs = world.now;
    const order = await scene.pay();
    expect(world.now - begunMs).toBe(2 * ROUND_TRIP_MS);
    expect(control.calls({ operation: 'createCnyOrder' })).toMatchObject([
      { atMs: begunMs + ROUND_TRIP_MS + 15, at: new Date(begunMs + 50).toISOString(), status: 200 },
    ]);
    expect(await world.finish(client.tradeResult(KEY))).toMatchObject({
      orderId: order.orderId,
      status: 'PROCESSING',
    });
    await scene.wait(3_000);
    expect(await world.finish(client.tradeDetail(KEY))).toMatchObject({
      status: 'SUCCESS',
      complete: true,
      finishedAt: new Date(begunMs + 50 + 3_000).toISOString(),
      splits: [{ status: 'SUCCESS' }],
    });
    expect(scene.notifications.map(({ atMs }) => atMs)).toEqual([begunMs + 50 + 3_000]);
    expect(JSON.parse(scene.notifications[0]?.notification.body ?? '')).toEqual({
      order_id: order.orderId,
      partner_order_id: KEY.partnerOrderId,
      status: 'SUCCESS',
    });
    expect(control.ledgerOf(KEY.partnerOrderId)).toMatchObject({
      debits: 1,
      notifications: [{ outcome: 200 }],
    });
  });

  test('takes no real time: real timers stand still, and none is set', async () => {
    elsewhere(Date.UTC(2026, 5, 1));
    const before = vi.getTimerCount();
    const scene = await signedIn({ settings: { answersAfterMs: [5, 500], applicationTokenSeconds: 3_600 } });
    scene.control.addFault({ operation: 'queryResult', fault: { kind: 'slow-body', ms: 40_000 } });
    await scene.pay();
    await scene.world.finish(scene.client.tradeResult(KEY));
    // Other files of this process may have set some.
    expect(vi.getTimerCount()).toBe(before);
    await scene.wait(3_600_000);
    expect(await failureOf(scene.world.finish(scene.client.tradeResult(KEY)))).toMatchObject({
      code: 'UNAUTHORIZED',
    });
  });
});

describe('one seed', () => {
  /** Something of everything that is random, as a digest. */
  async function digestOf(seed: number): Promise<string> {
    const scene = await signedIn({
      seed,
      settings: { callsPerSecond: 5, answersAfterMs: [0, 800], notificationSecret: 'shared' },
      trip: (_request, random) => ({
        connectMs: random.between(1, 30),
        requestMs: random.between(1, 50),
        answerMs: random.between(1, 50),
        fate: random.chance(0.1) ? 'answer-lost' : 'arrives',
      }),
      deliver: async (_letter, world) => (world.random.chance(0.5) ? 200 : 503),
    });
    const { world, client, control } = scene;
    control.addFault({
      probability: 0.3,
      seed,
      kinds: [
        { kind: 'random-answer' },
        { kind: 'drop-after' },
        { kind: 'cut-body' },
        { kind: 'slow-body', ms: 70 },
      ],
    });
    const outcomes: unknown[] = [];
    const work = Array.from({ length: 12 }, async (_, index) => {
      const partnerOrderId = `P-${index}`;
      await world.sleep(index * 400);
      try {
        const { lockRateId } = await client.quote(QUOTE);
        const order = { ...CREATE, partnerOrderId, lockRateId, platform: 'sim:partial notify=forged' };
        outcomes.push(await client.createPayout(order), await client.tradeDetail({ ...KEY, partnerOrderId }));
      } catch (error) {
        if (!(error instanceof PaymentsError)) throw error;
        outcomes.push([error.code, error.message, error.requestId]);
      }
    });
    await world.finish(Promise.all(work));
    await scene.wait(60_000);
    // Some succeeded, which is two entries each, and some failed.
    expect(outcomes.length).toBeGreaterThan(12);
    expect(outcomes.length).toBeLessThan(24);
    const answers = scene.answers.map((answer) =>
      answer.is === 'answer' ? { ...answer, body: answer.body.toString('base64') } : answer,
    );
    const all = [
      outcomes,
      answers,
      scene.notifications,
      control.ledger(),
      control.calls(),
      control.counts(),
      world.now,
    ];
    return createHash('sha256').update(JSON.stringify(all)).digest('hex');
  }

  test('gives the same bytes on any machine at any real time; another seed gives others', async () => {
    elsewhere(Date.UTC(2026, 0, 1));
    const first = await digestOf(7);
    expect(await digestOf(8)).not.toBe(first);
    vi.useRealTimers();
    elsewhere(Date.UTC(2031, 3, 5, 6, 7, 8, 999));
    expect(await digestOf(7)).toBe(first);
  });
});

describe('a fault has the same effect on the client as over HTTP:', () => {
  /** How a create ends under the fault, and what the ledger records. */
  async function ended(
    client: PaymentsClient,
    control: SimulatorControl,
    fault: FaultInput,
    finish: <T>(work: Promise<T>) => Promise<T>,
  ) {
    const { lockRateId } = await finish(client.quote(QUOTE));
    control.addFault({ operation: 'createCnyOrder', fault });
    const outcome = await finish(client.createPayout({ ...CREATE, lockRateId })).then(
      ({ status }) => ({ status }),
      (error: unknown) => {
        if (!(error instanceof PaymentsError)) throw error;
        const { code, mayHaveTakenEffect, httpStatus, serviceCode, transportCode } = error;
        return { code, mayHaveTakenEffect, httpStatus, serviceCode, transportCode };
      },
    );
    const { debits, creates } = control.ledgerOf(KEY.partnerOrderId);
    return {
      outcome,
      debits,
      creates: creates.map(({ effect, answered, code }) => ({ effect, answered, code })),
      calls: control.calls({ operation: 'createCnyOrder' }).map(({ status, code }) => ({ status, code })),
    };
  }

  async function overHttp(fault: FaultInput) {
    const simulator = await startSimulator();
    onTestFinished(() => simulator.close());
    let token = '';
    const client = clientFor(simulator.url, { ...APP, tokens: { token: async () => token } });
    token = (await client.applicationToken()).accessToken;
    return ended(client, simulator.control, fault, (work) => work);
  }

  const faults: FaultInput[] = [
    { kind: 'drop-before' },
    { kind: 'drop-after' },
    { kind: 'latency', ms: 20 },
    { kind: 'latency', ms: 20, effect: 'before' },
    { kind: 'status', status: 429, retryAfter: 2 },
    { kind: 'status', status: 500, effect: 'commit' },
    { kind: 'envelope', code: 429 },
    { kind: 'garbage' },
    { kind: 'html-502' },
    { kind: 'cut-body' },
    { kind: 'slow-body', ms: 20 },
    { kind: 'redirect-307', location: 'http://127.0.0.1:9/x' },
    { kind: 'data-null' },
    { kind: 'rate-limited-but-executes' },
    { kind: 'random-answer', effect: 'commit' },
  ];

  test.each(faults)('%j', async (fault) => {
    const { world, client, control } = await signedIn();
    const inProcess = await ended(client, control, fault, (work) => world.finish(work));
    expect(inProcess).toEqual(await overHttp(fault));
  });

  test('a delay and a pause last as specified, and a held create has an unknown outcome', async () => {
    const scene = await signedIn({ settings: { lockLifetimeMs: 120_000 } });
    const { world, client, control } = scene;
    const tookMs = async (fault: FaultInput) => {
      const { id } = control.addFault({ operation: 'queryResult', fault });
      const beganMs = world.now;
      await world.finish(failureOf(client.tradeResult(KEY)));
      control.removeFault(id);
      return world.now - beganMs;
    };
    expect(await tookMs({ kind: 'latency', ms: 20_000 })).toBe(20_000 + ROUND_TRIP_MS);
    expect(await tookMs({ kind: 'slow-body', ms: 7_000 })).toBe(7_000 + ROUND_TRIP_MS);
    const { id } = control.addFault({ operation: 'createCnyOrder', fault: { kind: 'hold-until-released' } });
    expect(await failureOf(scene.pay())).toMatchObject({ code: 'AMBIGUOUS', transportCode: 'TOTAL_TIMEOUT' });
    expect(control.ledgerOf(KEY.partnerOrderId).debits).toBe(0);
    expect(control.releaseFault(id)).toEqual({ released: 1 });
    await scene.wait(1);
    expect(control.ledgerOf(KEY.partnerOrderId).debits).toBe(1);
  });

  test('an answer contains Retry-After and Date', async () => {
    const limited: unknown[] = [];
    const gate = { pass: async () => {}, limited: (ms: number | undefined) => limited.push(ms) };
    const { world, client, control } = await signedIn({ client: { gate } });
    control.addFault({ times: 1, fault: { kind: 'status', status: 429, retryAfter: 2 } });
    await world.finish(failureOf(client.tradeResult(KEY)));
    expect(limited).toEqual([2_000]);
    const sentMs = world.now;
    const dates: string[] = [];
    await world.finish(client.ping({ onDate: (date) => dates.push(date) }));
    expect(dates).toEqual([new Date(sentMs + 15).toUTCString()]);
  });

  test('calls over the rate limit are answered 429, by the time of their arrival', async () => {
    const { world, client, control } = await signedIn({ settings: { callsPerSecond: 2 } });
    await world.finish(world.sleep(1_000));
    const codes = await world.finish(
      Promise.all([1, 2, 3].map(() => failureOf(client.tradeResult(KEY)).then(({ code }) => code))),
    );
    expect(codes).toEqual(['ORDER_NOT_EXIST', 'ORDER_NOT_EXIST', 'RATE_LIMITED']);
    await world.finish(world.sleep(1_000));
    expect((await world.finish(failureOf(client.tradeResult(KEY)))).code).toBe('ORDER_NOT_EXIST');
    expect(control.counts()).toMatchObject({ rejected: 1, maxServedInAnySecond: 2 });
  });
});

describe('network faults on the way to the provider', () => {
  test.each([
    ['is refused', { fate: 'refused' }, 'UNAVAILABLE', 'ECONNREFUSED', 5, 0],
    ['takes too long to connect', { connectMs: 10_000 }, 'UNAVAILABLE', 'UND_ERR_CONNECT_TIMEOUT', 10_000, 0],
    ['is lost', { fate: 'request-lost' }, 'AMBIGUOUS', 'TOTAL_TIMEOUT', 60_000, 0],
    ['is lost on its way back', { fate: 'answer-lost' }, 'AMBIGUOUS', 'TOTAL_TIMEOUT', 60_000, 1],
    ['is slower than anybody waits', { answerMs: 90_000 }, 'AMBIGUOUS', 'TOTAL_TIMEOUT', 60_000, 1],
  ] as const)('a create %s', async (_how, change, code, transportCode, afterMs, debits) => {
    const scene = await signedIn();
    const { world, client, control } = scene;
    const { lockRateId } = await world.finish(client.quote(QUOTE));
    scene.trip = () => ({ ...CALM, ...change });
    const beganMs = world.now;
    const error = await world.finish(failureOf(client.createPayout({ ...CREATE, lockRateId })));
    expect(error).toMatchObject({ code, transportCode });
    expect([world.now - beganMs, control.ledgerOf(KEY.partnerOrderId).debits]).toEqual([afterMs, debits]);
  });

  test.each([
    ['before it connects', 0, 'UNAVAILABLE', 0],
    ['while the request is under way', 6, 'AMBIGUOUS', 0],
    ['while the answer is under way', 16, 'AMBIGUOUS', 1],
  ] as const)('nothing gets through to a process that is cut off %s', async (_when, atMs, code, debits) => {
    const scene = await signedIn();
    const { world, client, control } = scene;
    const { lockRateId } = await world.finish(client.quote(QUOTE));
    world.at(atMs, () => {
      scene.cutOff = true;
    });
    const error = await world.finish(failureOf(client.createPayout({ ...CREATE, lockRateId })));
    expect([error.code, control.ledgerOf(KEY.partnerOrderId).debits]).toEqual([code, debits]);
    scene.cutOff = false;
    expect(await world.finish(client.quote(QUOTE))).toMatchObject({ targetCurrency: 'CNY' });
  });

  test('a request that was sent acts although its process dies, which sends no other', async () => {
    const scene = await signedIn();
    const { world, control } = scene;
    let isAlive = true;
    const mortal: Clock = {
      nowMs: () => world.now,
      wallMs: () => world.now,
      after: (ms, run) => world.after(ms, () => isAlive && run()),
    };
    const transport = scene.transport({
      ...{ origin: 'https://provider.example', timeouts: TIMEOUTS, maxBodyBytes: 1024, connections: 1 },
      clock: mortal,
    });
    const path = '/v2/token/get?app_id=demo-app&app_secret=demo-secret';
    const ends: unknown[] = [];
    // The second call waits for the connection of the first.
    for (let count = 0; count < 2; count += 1)
      world.spawn(transport.exchange({ method: 'GET', path, headers: {} }).then((end) => ends.push(end)));
    world.at(6, () => {
      isAlive = false;
    });
    await scene.wait(120_000);
    expect(control.calls({ operation: 'token' }).map(({ status }) => status)).toEqual([200, 200]);
    expect(ends).toEqual([]);
  });

  test('requests beyond the number of connections queue, and are withheld once their deadline passes', async () => {
    const scene = await signedIn({ client: { connections: 1 } });
    const { world, client, control } = scene;
    const beganMs = world.now;
    const deadline = beganMs + 2 * ROUND_TRIP_MS + 1;
    const calls = [1, 2, 3].map(() => failureOf(client.tradeResult(KEY, { deadline })));
    const codes = (await world.finish(Promise.all(calls))).map(({ code }) => code);
    expect(codes).toEqual(['ORDER_NOT_EXIST', 'ORDER_NOT_EXIST', 'NOT_SENT']);
    expect(control.calls({ operation: 'queryResult' }).map(({ atMs }) => atMs - beganMs)).toEqual([15, 50]);
  });

  test('an answer over the size limit is rejected, and a closed transport withholds', async () => {
    const { world, client } = new Scene({ client: { maxBodyBytes: 20 } });
    expect(await world.finish(failureOf(client.applicationToken()))).toMatchObject({
      code: 'MALFORMED_ANSWER',
      transportCode: 'BODY_TOO_LARGE',
    });
    await client.close();
    expect(await world.finish(failureOf(client.applicationToken()))).toMatchObject({
      code: 'NOT_SENT',
      reason: 'closed',
    });
  });
});

describe('notifications', () => {
  test('are repeated by the clock of the world until the receiver accepts one in time', async () => {
    const slowly = (world: World) => world.sleep(8_000).then(() => 200);
    const answers = [
      () => Promise.resolve(503),
      () => Promise.reject(new Error('nobody there')),
      slowly,
      () => Promise.resolve(204),
    ];
    const scene = await signedIn({
      settings: { finalAfterMs: 100, notificationSecret: 'shared', notificationTimeoutMs: 5_000 },
      deliver: (_letter, world) => answers.shift()?.(world) ?? Promise.resolve(200),
    });
    await scene.pay();
    await scene.wait(20_000);
    const { notifications } = scene.control.ledgerOf(KEY.partnerOrderId);
    expect(notifications.map(({ outcome }) => outcome)).toEqual([
      503,
      'nobody there',
      'the receiver took too long',
      204,
    ]);
    const [firstMs = 0, ...laterMs] = scene.notifications.map(({ atMs }) => atMs);
    expect(laterMs.map((atMs) => atMs - firstMs)).toEqual([200, 1_200, 1_200 + 5_000 + 3_000]);
    expect(scene.notifications.map(({ notification }) => notification.headers['webhook-timestamp'])).toEqual(
      scene.notifications.map(({ atMs }) => String(Math.floor(atMs / 1000))),
    );
  });

  test('an early one arrives before the answer to the create', async () => {
    const scene = await signedIn();
    scene.control.setScenario(KEY.partnerOrderId, 'success notify=early');
    await scene.pay();
    expect(scene.notifications).toHaveLength(1);
    expect(scene.world.now - (scene.notifications[0]?.atMs ?? 0)).toBe(50 + CALM.answerMs);
  });
});

describe('a simulated user', () => {
  const redirectUri = 'https://shop.example/callback';

  test('allows, and the code is exchanged once', async () => {
    const { world, client, simulator } = await signedIn({ client: { redirectUri } });
    const link = client.authorizationUrl({ state: 'here' }).toString();
    const back = new URL(simulator.decide(link, { decision: 'allow', openId: 'user-7' }));
    expect([back.origin + back.pathname, back.searchParams.get('state')]).toEqual([redirectUri, 'here']);
    const code = back.searchParams.get('code') ?? '';
    expect(await world.finish(client.exchangeCode(code))).toMatchObject({ openId: 'user-7' });
    expect(await world.finish(failureOf(client.exchangeCode(code)))).toMatchObject({ serviceCode: '40102' });
  });

  test('denies, and a link that the page rejects redirects nowhere', async () => {
    const { client, simulator } = await signedIn({ client: { redirectUri } });
    const link = client.authorizationUrl().toString();
    expect(simulator.decide(link, { decision: 'deny' })).toBe(`${redirectUri}?error=access_denied`);
    expect(() => simulator.decide(link.replace('demo-app', 'other'), { decision: 'allow' })).toThrow(
      'app_id is not known',
    );
  });
});
