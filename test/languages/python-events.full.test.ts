/** The receiver in Python, with the package `standardwebhooks`, gets the events of real workers. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildExample, LANGUAGES, whyUnavailable } from '../../scripts/setup/examples.ts';
import { Events } from '../../src/client/events.ts';
import { eventsFile, hmacSecret, untilEndpoint } from '../support/event-endpoint.ts';
import { eventually } from '../support/eventually.ts';
import { PayoutWorld } from '../support/payout-world.ts';

const missing = await whyUnavailable(LANGUAGES.python);
if (missing !== undefined) console.warn(`skipped: ${missing}`);

describe.skipIf(missing !== undefined)('events in Python', () => {
  const secret = hmacSecret();
  const lines: string[] = [];
  let receiver: ChildProcess;
  let world: PayoutWorld;

  beforeAll(async () => {
    const [python = '', program = ''] = await buildExample(LANGUAGES.python);
    receiver = spawn(python, [join(dirname(program), 'receive_events.py'), '0'], {
      env: { PATH: process.env['PATH'], EVENTS_SECRET: secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (!receiver.stdout) throw new Error('the receiver has no output');
    createInterface({ input: receiver.stdout }).on('line', (line) => lines.push(line));
    const port = await eventually(() => /^listening on (\d+)$/.exec(lines[0] ?? '')?.[1]);
    const url = `http://127.0.0.1:${port}/`;
    const file = eventsFile([
      { url, secrets: [hmacSecret(), secret] },
      { name: 'wrong', url },
    ]);
    world = await PayoutWorld.start({ env: { PAYOUTS_EVENTS_FILE: file } });
  }, 900_000);
  afterAll(async () => {
    await world?.stop();
    if (receiver?.kill('SIGTERM')) await once(receiver, 'exit');
  });

  test('H171 verifies the signature, also while a secret is replaced, and refuses any other', async () => {
    const ref = await world.pay('success final=0s');
    const result = await world.payouts.result(ref);
    await untilEndpoint(world.client, ({ delivered }) => delivered === 1);
    const printed: unknown = JSON.parse(lines.at(-1) ?? '');
    const [event] = await new Events({ client: world.client, environment: 'test' }).ofPayout(ref);
    expect(printed).toEqual(event);
    expect(printed).toMatchObject({ type: 'payout.completed', data: { orderId: result.orderId } });
    const wrong = await untilEndpoint(world.client, ({ lastFailure }) => lastFailure !== undefined, 'wrong');
    expect(wrong).toMatchObject({ delivered: 0, lastFailure: { reason: 'HTTP_401' } });
  });

  test('stores an event once, however often it arrives', async () => {
    const events = new Events({ client: world.client, environment: 'test' });
    const ref = await world.pay('success final=0s');
    await world.payouts.result(ref);
    await untilEndpoint(world.client, ({ delivered }) => delivered === 2);
    const count = lines.length;
    await events.resendPayout(ref);
    await untilEndpoint(world.client, ({ delivered }) => delivered === 3);
    expect(lines).toHaveLength(count);
  });
});
