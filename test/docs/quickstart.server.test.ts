/**
 * docs/quickstart.md, walked through by a reader who knows nothing else: every command by a real shell, with real
 * processes, a Temporal dev server and the simulator as the provider. What is printed is what the page shows.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../../scripts/dev-server/ports.ts';
import { findTemporalCli } from '../../scripts/setup/temporal-cli.ts';
import { type Simulator, startSimulator } from '../../simulator/index.ts';
import type { Environment } from '../../src/config/environment.ts';
import { eventually } from '../support/eventually.ts';
import { Terminal } from '../support/terminal.ts';
import { NO_POLLS } from '../support/test-world.ts';
import { startTlsFront, type TlsFront } from '../support/tls-front.ts';
import { type Command, replaced, type Step, showsAmong, showsAs, stepsOf } from '../support/walkthrough.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/quickstart.md');
const README = join(ROOT, 'README.md');
const markdown = readFileSync(PAGE, 'utf8');
const steps = stepsOf(markdown);

const APP = { appId: 'app-of-a-stranger', appSecret: 'secret-of-a-stranger' };
/** Of the page: the payout, and who the user turns out to be. */
const PAYOUT = 'first-payout';
const USER = 'user-1';

/** What the page prints in one form and a machine in another, with what stands for both. */
const VARIES: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'RUN'],
  [/\bPO[0-9a-f]{32}\b/g, 'ORDER'],
  [/\b[0-9a-f]{64}\b/g, 'SHA256'],
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\?link=[\w.-]+/g, '?link=LINK'],
  [/\bidentity \d+@\S+/g, 'identity PROCESS'],
  // Versions of the Temporal CLI differ in it.
  [/^Temporal (?=UI:)/gm, ''],
  [/\bserver \d+(?:\.\d+)+/g, 'server VERSION'],
  // Columns are as wide as what stands in them.
  [/ {2,}/g, ' '],
];
/** npm's own lines, which the page says that it leaves out. */
const NPM = /^> /;

/** What the reader replaces, by the table on the page. Hashes and links are added when they are printed. */
const values = new Map<string, string>();
const terminals: Terminal[] = [];
let simulator: Simulator;
/** Outside a test, the provider must be https. */
let provider: TlsFront;
let folder: string;
let environment: Environment;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payouts-quickstart-'));
  const [temporal, ui, api, codec] = (await freePorts(4)).map(String);
  const address = `http://127.0.0.1:${api}`;
  const notifyUrl = `${address}/v1/notifications/default`;
  const redirectUri = `${address}/v1/oauth/default/callback`;
  simulator = await startSimulator({ apps: [{ ...APP, notifyUrl, redirectUri }] });
  provider = await startTlsFront(simulator.url, folder);
  simulator.control.setAccounts('payer-7', [{ currency: 'USD', available: '5000.00' }]);
  // It ends when the test says so.
  simulator.control.setScenario(PAYOUT, 'success final=1d');
  for (const [shown, value] of Object.entries({
    'https://api.provider.example': provider.url,
    'https://auth.provider.example': provider.url,
    'api.provider.example': new URL(provider.url).host,
    'auth.provider.example': new URL(provider.url).host,
    'replace-with-your-app-id': APP.appId,
    'https://payouts.example': address,
    'client-1001': 'client-7',
    'payer-1001': 'payer-7',
    '6222020000000001': '6222020000000077',
    7233: temporal,
    8233: ui,
    8080: api,
    8081: codec,
  }))
    values.set(shown, value ?? '');
  environment = { ...NO_POLLS, ...(await readersEnvironment()) };
});
afterAll(async () => {
  // In the opposite order: Temporal last.
  for (const terminal of terminals.reverse()) await terminal.stop();
  await provider?.close();
  await simulator?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A clone in which nobody has worked yet, and a user without any settings. */
async function readersEnvironment(): Promise<Environment> {
  const [home, bin, clone] = ['home', 'bin', 'clone'].map((name) => join(folder, name));
  for (const path of [home, bin, clone]) mkdirSync(path ?? '');
  for (const name of readdirSync(ROOT))
    if (!['.env', '.git', '.quickstart'].includes(name))
      symlinkSync(join(ROOT, name), join(clone ?? '', name));
  symlinkSync(await findTemporalCli(), join(bin ?? '', 'temporal'));
  return {
    PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`,
    HOME: home,
    TMPDIR: tmpdir(),
    npm_config_update_notifier: 'false',
    NODE_EXTRA_CA_CERTS: provider.certificateFile,
  };
}

const inClone = (path: string) => join(folder, 'clone', path);
const asReader = (text: string) => replaced(text, values);

/** Without what varies, and without empty lines. */
function comparable(text: string): string[] {
  const plain = VARIES.reduce((all, [what, name]) => all.replace(what, name), text);
  return plain
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !NPM.test(line));
}

async function perform(step: Step): Promise<void> {
  if (step.kind === 'file') writeFileSync(inClone(step.path), asReader(step.content));
  else if (step.kind === 'lines') setLines(step.path, step.lines);
  else if (step.kind === 'open') await open(asReader(step.url));
  else if (step.inNewTerminal) await occupy(step);
  else await type(step);
}

function setLines(path: string, lines: readonly string[]): void {
  let text = readFileSync(inClone(path), 'utf8');
  for (const line of lines) {
    const [name = ''] = line.split('=');
    const all = new RegExp(`^#?${name}=.*$`, 'gm');
    expect(text.match(all), `lines of ${path} that set ${name}`).toHaveLength(1);
    text = text.replace(all, () => asReader(line));
  }
  writeFileSync(inClone(path), text);
}

/** What a reader types while a command waits, and what the provider does meanwhile. */
const TYPED = new Map([['read -rs', APP.appSecret]]);
const MEANWHILE = new Map([
  ['payouts -- result', () => simulator.control.changeOrder(PAYOUT, { status: 'SUCCESS' })],
]);
/** The page tells the reader to repeat it. */
const REPEATED = 'payouts -- status';

function forCommand<T>({ command }: Command, table: ReadonlyMap<string, T>): T | undefined {
  return [...table].find(([part]) => command.includes(part))?.[1];
}

async function type(step: Command): Promise<void> {
  const [first = openTerminal()] = terminals;
  const expected = comparable(asReader(step.output.join('\n')));
  forCommand(step, MEANWHILE)?.();
  const ran = await eventually(async () => {
    const { status, output } = await first.run(asReader(step.command), forCommand(step, TYPED));
    const lines = comparable(output);
    const again = step.command.includes(REPEATED) && !showsAs(expected, lines);
    return again ? undefined : { status, output, lines };
  });
  const failure = `$ ${step.command}\n${ran.output}`;
  if (!showsAs(expected, ran.lines)) expect(ran.lines, failure).toEqual(expected);
  expect(ran.status, failure).toBe(0);
  copyPrinted(step.output.join('\n'), ran.output);
}

/** A hash, or the link for a user. */
const PRINTED = /^[0-9a-f]{64}$|(?<=authorize\?link=)[\w.-]+/m;

/** What one command prints, the reader puts where the page has it. */
function copyPrinted(shown: string, printed: string): void {
  const [onPage] = PRINTED.exec(shown) ?? [];
  const [own] = PRINTED.exec(printed) ?? [];
  if (onPage && own) values.set(onPage, own);
}

/** A program that stays in the foreground of its terminal. */
async function occupy(step: Command): Promise<void> {
  const terminal = openTerminal();
  const expected = comparable(asReader(step.output.join('\n')));
  terminal.start(asReader(step.command));
  await eventually(() => {
    const lines = comparable(terminal.output);
    if (showsAmong(expected, lines)) return true;
    if (terminal.isIdle) expect(lines, `$ ${step.command}`).toEqual(expected);
    return undefined;
  });
  expect(terminal.isIdle, terminal.output).toBe(false);
}

function openTerminal(): Terminal {
  const terminal = new Terminal(inClone('.'), environment);
  terminals.push(terminal);
  return terminal;
}

/** What the reader opens in a browser: the consent of a user, or a payout in the Temporal UI. */
async function open(url: string): Promise<void> {
  if (url.includes('/authorize?')) await consent(url);
  else await lookAtWorkflow(new URL(url));
}

async function consent(url: string): Promise<void> {
  const sent = await visit(url);
  const page = new URL(sent.location);
  const cookie = sent.cookie.split(';')[0] ?? '';
  const form = new URLSearchParams([...page.searchParams, ['decision', 'allow'], ['open_id', USER]]);
  const back = await visit(`${page.origin}${page.pathname}`, { method: 'POST', body: form.toString() });
  const { status, text } = await visit(back.location, { headers: { cookie } });
  expect(status, text).toBe(200);
  expect(markdown).toContain('"Access granted"');
  expect(text).toContain('Access granted');
}

async function visit(url: string, options: Parameters<typeof request>[1] = {}) {
  const dispatcher = new Agent({ connect: { ca: provider.certificate } });
  const { statusCode, headers, body } = await request(url, { dispatcher, ...options });
  const [location, cookie] = [headers['location'], headers['set-cookie']].map(String);
  return { status: statusCode, location: location ?? '', cookie: cookie ?? '', text: await body.text() };
}

/** The UI draws in the browser; what it draws comes from Temporal by the same server. */
async function lookAtWorkflow({ origin, pathname }: URL): Promise<void> {
  expect((await visit(`${origin}${pathname}`)).status).toBe(200);
  const { status, text } = await visit(`${origin}/api/v1${pathname}`);
  expect(status, text).toBe(200);
  expect(JSON.parse(text)).toMatchObject({
    workflowExecutionInfo: { type: { name: 'payout' }, status: 'WORKFLOW_EXECUTION_STATUS_COMPLETED' },
  });
}

describe('docs/quickstart.md', () => {
  test('takes a reader from an account to the result of the first payout, as it says', async () => {
    for (const step of steps) await perform(step);
    // Money left once, and the secrets are nowhere but in files.
    expect(simulator.control.ledgerOf(PAYOUT)).toMatchObject({ debits: 1 });
    expect(readFileSync(inClone('.env'), 'utf8')).not.toContain(APP.appSecret);
    for (const terminal of terminals) expect(terminal.output).not.toContain(APP.appSecret);
  });

  test('has a row for every value that the reader replaces, and uses each', () => {
    const rows = [...markdown.matchAll(/^\| (`.+?) +\|/gm)].map(([, cell = '']) => cell);
    const named = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, value]) => value));
    const replaceable = [...values.keys()].filter((value) => !/^([0-9a-f]{64}|t1\..+)$/.test(value));
    expect(named.sort()).toEqual(replaceable.sort());
    const typed = JSON.stringify(steps);
    expect(replaceable.filter((value) => !typed.includes(value))).toEqual([]);
  });

  test('says in every step what differs in production', () => {
    const numbered = markdown.split(/^## /m).filter((section) => /^\d/.test(section));
    expect(numbered.length).toBeGreaterThan(8);
    expect(numbered.filter((section) => !section.includes('**Production:**'))).toEqual([]);
  });

  test('holds the example of README.md', () => {
    const readme = readFileSync(README, 'utf8').replaceAll(/^ {2}/gm, '');
    const examples = [...readme.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) expect(markdown).toContain(example);
  });
});
