/** Files: what the command line and the processes read from disk. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { pick, type Random, whole } from '../../simulator/runtime.ts';
import { checkedBatch } from '../../src/client/checked-batch.ts';
import { InvalidPayoutRequestError } from '../../src/client/errors.ts';
import { readApplications } from '../../src/config/applications.ts';
import { readCallers, VERBS } from '../../src/config/callers.ts';
import { ConfigError } from '../../src/config/environment.ts';
import { normalizeAmount } from '../../src/contract/money.ts';
import { type CheckedPayoutRequest, checkPayoutRequest } from '../../src/contract/payout-request.ts';
import { checkReceivingAccount } from '../../src/contract/receiving-account.ts';
import { isJsonObject, NotJsonError, readExactJson } from '../../src/payments/exact-json.ts';
import { checkedRequests, readJson, withPayouts } from '../../src/starters/cli/files.ts';
import { UsageError } from '../../src/starters/cli/output.ts';
import { demand, type Edge, type Judge, type Verdict } from '../edge.ts';
import { documents, shown } from '../inputs/documents.ts';
import { asLines } from '../inputs/lines.ts';
import { drawId, drawOpening, drawPayout } from '../inputs/valid.ts';
import { demandSendable } from '../sendable.ts';

const KINDS = ['payout', 'payouts', 'batch', 'ndjson', 'opening', 'applications', 'callers'] as const;
type Kind = (typeof KINDS)[number];

interface Input {
  kind: Kind;
  content: Buffer;
}

export const files: Edge<Input> = {
  name: 'files',
  inputs: documents(drawFile, fc.constantFrom(...KINDS)).map(({ about: kind, bytes }) => ({
    kind,
    content: kind === 'ndjson' ? asLines(bytes) : bytes,
  })),
  open,
  show: ({ kind, content }) => `${kind}: ${shown(content)}`,
};

function drawFile(random: Random, kind: Kind): unknown {
  const payouts = () => Array.from({ length: whole(random, 1, 3) }, () => drawPayout(random, 'default'));
  switch (kind) {
    case 'payout':
      return drawPayout(random);
    case 'opening':
      return drawOpening(random);
    case 'applications':
      return Object.fromEntries(
        Array.from({ length: whole(random, 1, 3) }, (_, at) => [`app-${at}`, drawApplication(random)]),
      );
    case 'callers':
      return Array.from({ length: whole(random, 1, 3) }, (_, at) => drawCaller(random, `caller-${at}`));
    default:
      return payouts();
  }
}

function drawApplication(random: Random): unknown {
  return {
    appId: drawId(random),
    appSecret: pick(random, ['env:FUZZ_SECRET', 'env:FUZZ_MISSING', 'file:/dev/null', 'file:/']),
    redirectUri: pick(random, [undefined, 'https://shop.example/callback']),
    callsPerSecond: pick(random, [undefined, whole(random, 1, 100)]),
  };
}

function drawCaller(random: Random, name: string): unknown {
  const hex = () => Array.from({ length: 64 }, () => pick(random, [...'0123456789abcdef'])).join('');
  return {
    name,
    keySha256: Array.from({ length: whole(random, 1, 2) }, hex),
    applications: ['default'],
    verbs: VERBS.slice(0, whole(random, 1, VERBS.length)),
    largestAmount: { CNY: '100.00', USD: pick(random, ['5', '9999999999999999.99']) },
    ...pick(random, [{}, { requestsPerSecond: whole(random, 1, 10_000) }]),
  };
}

async function open(): Promise<Judge<Input>> {
  const folder = mkdtempSync(join(tmpdir(), 'payouts-fuzz-'));
  const file = join(folder, 'input.json');
  return {
    judge: (input) => {
      writeFileSync(file, input.content);
      return JUDGES[input.kind](file, input.content);
    },
    settle: async () => undefined,
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

const JUDGES: Readonly<Record<Kind, (file: string, content: Buffer) => Verdict | Promise<Verdict>>> = {
  payout: judgePayouts,
  payouts: judgePayouts,
  batch: judgeBatch,
  ndjson: judgeBatch,
  opening: judgeOpening,
  applications: judgeApplications,
  callers: judgeCallers,
};

async function judgePayouts(file: string, content: Buffer): Promise<Verdict> {
  let payouts: CheckedPayoutRequest[];
  try {
    payouts = await withPayouts(file, checkedRequests, 'json');
  } catch (error) {
    return refused(error, file);
  }
  return acceptedPayouts(payouts, content);
}

async function judgeBatch(file: string, content: Buffer): Promise<Verdict> {
  let rows: CheckedPayoutRequest[];
  try {
    ({ rows } = await withPayouts(file, (payouts) =>
      checkedBatch({ app: 'default', batchId: 'b', payouts, lines: payouts.lines }),
    ));
  } catch (error) {
    return refused(error, file);
  }
  return acceptedPayouts(rows, content);
}

/** Accepts only errors that the command line explains; it prints any other error as unexpected. */
function refused(error: unknown, file: string): Verdict {
  if (error instanceof UsageError) {
    demand(error.message.includes(file), 'an error does not name the file');
    return 'refused';
  }
  demand(
    error instanceof InvalidPayoutRequestError,
    `threw ${error instanceof Error ? error.message : typeof error}`,
  );
  demand(error.fields.length > 0, 'names no bad field');
  return 'refused';
}

function acceptedPayouts(payouts: readonly CheckedPayoutRequest[], content: Buffer): Verdict {
  demand(payouts.length > 0, 'accepted a file without payouts');
  const bodies = readByOthers(content);
  demand(bodies.length === payouts.length, 'started another number of payouts than the file contains');
  for (const [at, payout] of payouts.entries()) {
    const again = checkPayoutRequest(JSON.parse(JSON.stringify(payout)));
    demand(again.ok && isDeepStrictEqual(again.value, payout), 'is not the same when it is checked again');
    demandSendable(payout);
    demandDigits(bodies[at], payout);
  }
  return 'accepted';
}

/** Uses the exact reader, which rejects what two parsers could read differently. */
function readByOthers(content: Buffer): unknown[] {
  try {
    return asList(readExactJson(content, { uniqueKeys: true }));
  } catch (error) {
    demand(error instanceof NotJsonError, 'the exact reader threw another error');
    const lines = content
      .toString('utf8')
      .split('\n')
      .filter((line) => line.trim() !== '');
    demand(lines.length > 1 && error.message === 'not JSON', `accepted, although it is ${error.message}`);
    return lines.map((line) => exactLine(Buffer.from(line)));
  }
}

function exactLine(line: Buffer): unknown {
  try {
    return readExactJson(line, { uniqueKeys: true });
  } catch {
    demand(false, 'accepted a line that two parsers could read differently');
  }
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function demandDigits(body: unknown, { instructedAmount }: CheckedPayoutRequest): void {
  const money = isJsonObject(body) ? body['instructedAmount'] : undefined;
  const amount = isJsonObject(money) ? money['amount'] : undefined;
  demand(typeof amount === 'string', 'accepted an amount that is not text');
  demand(normalizeAmount(amount) === instructedAmount.amount, 'the amount differs from the file');
}

function judgeOpening(file: string, content: Buffer): Verdict {
  let body: unknown;
  try {
    body = readJson(file);
  } catch (error) {
    return refused(error, file);
  }
  const checked = checkReceivingAccount(body);
  if (!checked.ok) {
    demand(checked.errors.length > 0, 'names no bad field');
    return 'refused';
  }
  const again = checkReceivingAccount(JSON.parse(JSON.stringify(checked.value)));
  demand(
    again.ok && isDeepStrictEqual(again.value, checked.value),
    'is not the same when it is checked again',
  );
  readByOthers(content);
  return 'accepted';
}

const SECRET = 'fuzz-secret-of-an-application';

function attempt<T>(read: () => T): { ok: true; value: T } | { ok: false; problems: string[] } {
  try {
    return { ok: true, value: read() };
  } catch (error) {
    if (error instanceof ConfigError) return { ok: false, problems: error.problems };
    throw error;
  }
}

function judgeApplications(file: string, content: Buffer): Verdict {
  const read = attempt(() =>
    readApplications({ PAYMENTS_ENVIRONMENT: 'test', PAYOUTS_APPS_FILE: file, FUZZ_SECRET: SECRET }),
  );
  if (!read.ok) return problemsNamed(read.problems, 'PAYOUTS_APPS_FILE', SECRET);
  demand(read.value.size > 0, 'accepted a file without applications');
  for (const [name, { appSecret }] of read.value) {
    demand(typeof appSecret === 'string' && appSecret !== '', `the secret of ${name} is not text`);
    demand(/^[a-z0-9-]{1,32}$/.test(name), 'accepted an application without a usable name');
  }
  const [all] = readByOthers(content);
  demand(
    isJsonObject(all) && Object.keys(all).length === read.value.size,
    'contains fewer applications than the file',
  );
  return 'accepted';
}

function judgeCallers(file: string, content: Buffer): Verdict {
  const read = attempt(() => readCallers({ PAYOUTS_API_KEYS_FILE: file }, undefined));
  if (!read.ok) return problemsNamed(read.problems, 'PAYOUTS_API_KEYS_FILE', SECRET);
  demand(read.value.keys.length > 0, 'accepted a file without keys, which would allow every caller');
  for (const { hash, caller } of read.value.keys) {
    demand(hash.length === 32, 'accepted a hash of another length');
    demand(
      caller.verbs.length > 0 && caller.applications.length > 0,
      'accepted a caller without permissions',
    );
  }
  readByOthers(content);
  return 'accepted';
}

function problemsNamed(problems: readonly string[], variable: string, secret: string): Verdict {
  demand(problems.length > 0, 'refused without a reason');
  for (const problem of problems) {
    demand(problem.startsWith(`${variable}: `), 'a problem does not name its variable');
    demand(!problem.includes(secret), 'a problem quotes a secret');
  }
  return 'refused';
}
