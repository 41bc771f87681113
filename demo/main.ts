/** `npm run demo`: pays everything in `examples/payouts.json` on real processes, and checks the result of each payout. */

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import pc from 'picocolors';
import { z } from 'zod';
import { simulatorControl } from '../simulator/control/client.ts';
import { Payouts, type StartedPayout } from '../src/client/payouts.ts';
import { encryptionKeys } from '../src/config/keys.ts';
import { OUTCOMES } from '../src/contract/codes.ts';
import type { PayoutResult } from '../src/contract/payout.ts';
import { payoutRequestSchema } from '../src/contract/payout-request.ts';
import { dataConverter } from '../src/encryption/payload-codec.ts';
import { PROCESS_RUNTIME } from '../src/runtime/process.ts';
import { changeDetector, clientInterceptors } from '../src/temporal/queries.ts';
import { Progress, type Row, table } from './show.ts';
import { type Stage, startStage } from './stage.ts';

const expectedSchema = z.record(
  z.string(),
  z.strictObject({
    outcome: z.enum(OUTCOMES),
    splits: z.number(),
    reason: z.string().optional(),
    learnedBy: z.string().optional(),
  }),
);
type Expected = z.output<typeof expectedSchema>[string];

const QUERY_EVERY_MS = 150;
const EXAMPLES = join(import.meta.dirname, '../examples');
/** In the current folder. Git ignores it. */
const SETTINGS = '.quickstart/demo.env';

/** Sets apart what people need next. */
const RULE = '─'.repeat(80);

async function main(): Promise<void> {
  const isKept = process.argv.includes('--keep');
  const all = z.array(payoutRequestSchema).parse(example('payouts.json'));
  // Its quadrillions would be all that people see of the sums on the desk.
  const requests = all.filter(({ partnerOrderId }) => !isKept || partnerOrderId !== 'every-digit');
  const expected = expectedSchema.parse(example('expected.json'));
  const keys = newKeys();
  const stage = await startStage((line) => console.log(line), isKept ? keys : undefined);
  try {
    const connection = await Connection.connect({ address: stage.temporal.address });
    const payouts = new Payouts({
      client: new Client({
        connection,
        namespace: stage.temporal.namespace,
        dataConverter: dataConverter(encryptionKeys(stage.environment).payloads, PROCESS_RUNTIME.random),
        interceptors: clientInterceptors(PROCESS_RUNTIME.clock),
      }),
      environment: 'test',
    });
    await loseTheAnswerOf('answer-lost', stage);
    console.log(
      `\nTemporal UI  ${stage.temporal.uiUrl}\ndesk         ${stage.apiUrl}/desk\nsimulator    ${stage.simulatorUrl}/_sim\n`,
    );
    const progress = new Progress(requests.length);
    const rows = await Promise.all(
      requests.map(async (request) => {
        const started = await payouts.start(request);
        const result = await follow(payouts, started, progress);
        return row(stage, started, result, expected[request.partnerOrderId]);
      }),
    );
    console.log(`\n${table(rows)}\n`);
    for (const { name, link } of rows) console.log(`${name.padEnd(22)} ${link}`);
    await connection.close();
    conclude(rows);
    if (isKept) await keep(stage, keys);
    else console.log('To try it yourself: npm run demo -- --keep (docs/quickstart.md)');
  } finally {
    await stage.stop();
  }
}

/** Follows one payout. Approves the one that requires it, as another caller than the starter. */
async function follow(payouts: Payouts, started: StartedPayout, progress: Progress): Promise<PayoutResult> {
  const hasNews = changeDetector(payouts.handle(started));
  for (let isNew = false; ; await sleep(QUERY_EVERY_MS)) {
    isNew ||= await hasNews();
    // A query fails while the worker is busy.
    const state = isNew ? await payouts.state(started).catch(() => undefined) : undefined;
    if (!state) continue;
    isNew = false;
    progress.saw(started.partnerOrderId, state.phase, state.sentence);
    if (state.phase === 'AWAITING_APPROVAL')
      await payouts.approve(started, { by: 'demo-approver', lockRateId: state.quote?.lockRateId });
    if (state.phase === 'DONE') return payouts.result(started);
  }
}

/** The provider creates and pays this order, but its answer is lost: a create that must not be repeated. */
async function loseTheAnswerOf(partnerOrderId: string, { simulatorUrl }: Stage): Promise<void> {
  await simulatorControl(simulatorUrl).addFault({
    operation: 'createCnyOrder',
    partnerOrderId,
    times: 1,
    fault: { kind: 'drop-after' },
  });
}

function row(
  stage: Stage,
  started: StartedPayout,
  result: PayoutResult,
  expected: Expected | undefined,
): Row {
  const { workflowId, runId, partnerOrderId } = started;
  const path = `namespaces/${stage.temporal.namespace}/workflows/${encodeURIComponent(workflowId)}/${runId}/history`;
  return {
    name: partnerOrderId,
    result,
    differences: expected ? differences(result, expected) : ['not in expected.json'],
    link: `${stage.temporal.uiUrl}/${path}`,
  };
}

function differences(result: PayoutResult, expected: Expected): string[] {
  return [
    result.outcome !== expected.outcome && `expected ${expected.outcome}`,
    result.splits.length !== expected.splits && `expected ${expected.splits} splits`,
    expected.reason !== undefined && result.reason?.code !== expected.reason && `expected ${expected.reason}`,
    expected.learnedBy !== undefined &&
      result.learnedBy !== expected.learnedBy &&
      `expected by ${expected.learnedBy}`,
  ].filter((difference) => difference !== false);
}

function conclude(rows: readonly Row[]): void {
  const bad = rows.filter(({ differences: all }) => all.length > 0).length;
  console.log(`\n${rows.length - bad} of ${rows.length} payouts ended as expected`);
  if (bad > 0) process.exitCode = 1;
}

async function keep(stage: Stage, { starter, approver }: ReturnType<typeof newKeys>): Promise<void> {
  const { apiUrl, temporal, simulatorUrl, folder, environment } = stage;
  const all = { ...environment, PAYOUTS_URL: apiUrl, KEY: starter, APPROVER_KEY: approver };
  const variables = Object.entries(all).map(([name, value]) => `${name}='${value}'\n`);
  mkdirSync(dirname(SETTINGS), { recursive: true, mode: 0o700 });
  writeFileSync(SETTINGS, variables.join(''), { mode: 0o600 });
  const payout = join(EXAMPLES, 'payout.json');
  const { partnerOrderId } = payoutRequestSchema.parse(example('payout.json'));
  const authorization = `-H 'authorization: Bearer ${starter}'`;
  console.log(`
Everything keeps running until Ctrl-C; logs are in ${folder}.

desk            ${apiUrl}/desk (sign in with a key)
API reference   ${apiUrl}/docs
Temporal UI     ${temporal.uiUrl}
simulator       ${simulatorUrl}/_sim

Use the addresses and keys in another terminal, in this folder, and follow docs/quickstart.md:

  set -a; . ${SETTINGS}; set +a

${RULE}

${pc.bold(`key             ${starter}
approver's key  ${approver}`)}

Start a payout of your own, and read its result:

${pc.bold(`  curl -sS ${apiUrl}/v1/payouts ${authorization} -H 'content-type: application/json' -d '@${payout}'

  curl -sS '${apiUrl}/v1/payouts/${partnerOrderId}?wait=30s' ${authorization}`)}
`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  console.log('\nstopping …');
  rmSync(SETTINGS, { force: true });
}

function newKeys() {
  const newKey = () => randomBytes(16).toString('hex');
  return { starter: newKey(), approver: newKey() };
}

function example(name: string): unknown {
  return JSON.parse(readFileSync(join(EXAMPLES, name), 'utf8'));
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
