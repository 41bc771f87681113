/** Verbs that wait, lists by page, and lists of payouts in which rows are refused. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { programArguments } from '../../scripts/programs.ts';
import { CAN_HAVE_TERMINAL, cli, cliOnTerminal, passTime } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { payoutRequest } from '../support/requests.ts';
import { secretFile } from '../support/secret-file.ts';
import { newPartnerOrderId } from '../support/test-world.ts';
import { VirtualWorld } from '../support/virtual-world.ts';

const pageSchema = z.object({
  payouts: z.array(z.object({ partnerOrderId: z.string() })),
  nextCursor: z.string().optional(),
});
let world: VirtualWorld;
const run = (...args: string[]) => cli(world.workerEnvironment, args);

beforeAll(async () => {
  world = await VirtualWorld.start();
});

afterAll(() => world.stop());

/** Standard output by line, while the command runs. */
function linesOf(...args: string[]) {
  const child = spawn(process.execPath, [...programArguments('src/starters/cli/main.ts'), ...args], {
    env: { PATH: process.env['PATH'], ...world.workerEnvironment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close').finally(passTime());
  return { lines: createInterface({ input: child.stdout }), exitCode: async () => (await closed)[0] };
}

const request = (scenario: string) => payoutRequest(newPartnerOrderId(), { platform: `sim:${scenario}` });
const fileOf = (content: unknown) => secretFile(JSON.stringify(content));

describe('watch', () => {
  test('prints each state as one line of JSON, up to the end', async () => {
    const ref = await world.pay('success', { approval: 'required' });
    const phases: string[] = [];
    const { lines, exitCode } = linesOf('watch', ref.partnerOrderId, '--json');
    for await (const line of lines) {
      const { phase, outcome } = JSON.parse(line);
      if (phase === 'AWAITING_APPROVAL' && !phases.includes(phase))
        await world.payouts.approve(ref, { by: 'olga' });
      phases.push(outcome ?? phase);
    }
    expect(await exitCode()).toBe(0);
    expect(phases).toContain('AWAITING_APPROVAL');
    expect(phases.filter((phase) => phase === 'SUCCESS')).toHaveLength(1);
    expect(phases.at(-1)).toBe('SUCCESS');
  });

  test('exits 5 if the payout does not end as SUCCESS, and 3 if there is none', async () => {
    const ref = await world.pay('failure');
    const { code, stdout } = await run('watch', ref.partnerOrderId);
    expect(code).toBe(5);
    expect(stdout).toMatch(/^\d{4}-.*Z {2}\w+ {2}/);
    expect(stdout).toMatch(/outcome +FAILED/);
    expect((await run('watch', 'no-such-payout')).code).toBe(3);
  });
});

describe('status --wait', () => {
  test('waits for the end, and exits by the outcome', async () => {
    const [paid, failed] = [await world.pay('success'), await world.pay('failure')];
    const waited = await run('status', paid.partnerOrderId, '--wait', '--json');
    expect(waited).toMatchObject({ code: 0, stderr: '' });
    expect(waited.json()).toMatchObject({ phase: 'DONE', outcome: 'SUCCESS' });
    expect((await run('status', failed.partnerOrderId, '--wait')).code).toBe(5);
    expect((await run('status', failed.partnerOrderId)).code).toBe(0);
  });

  test('waits at most for the timeout, and then exits 5 with the open state', async () => {
    const ref = await world.pay('success', { approval: 'required' });
    await world.until(ref, ({ phase }) => phase === 'AWAITING_APPROVAL');
    const { code, ...open } = await run('status', ref.partnerOrderId, '--timeout', '100ms', '--json');
    expect(code).toBe(5);
    expect(open.json()).toMatchObject({ phase: 'AWAITING_APPROVAL' });
  });

  test.each([
    [['--wait', '--timeout', 'soon'], 'must be a duration'],
    [['--wait', '--timeout', '25d'], 'at most 24d'],
  ])('%s is bad input', async (options, message) => {
    const answer = await run('status', 'x', ...options);
    expect(answer.code).toBe(2);
    expect(answer.stderr).toContain(message);
  });
});

describe('a list', () => {
  test('in which a row is refused: starts the others, and reports each row', async () => {
    const [first, taken, last] = [request('success'), request('success'), request('success')];
    await world.payouts.start({ ...taken, clientId: 'client-2' });
    const file = fileOf([first, taken, last]);
    const { code, stderr, ...answer } = await run('start', file, '--json');
    expect({ code, stderr }).toEqual({ code: 4, stderr: '' });
    expect(answer.json()).toMatchObject([
      { partnerOrderId: first.partnerOrderId, workflowId: expect.any(String) },
      { row: 1, partnerOrderId: taken.partnerOrderId, error: { code: 'CONFLICT' } },
      { partnerOrderId: last.partnerOrderId, workflowId: expect.any(String) },
    ]);
    const waited = await run('start', file, '--wait', '--json');
    expect(waited.code).toBe(4);
    expect(waited.json()).toMatchObject([
      { outcome: 'SUCCESS' },
      { row: 1, error: { code: 'CONFLICT' } },
      { outcome: 'SUCCESS' },
    ]);
    const text = await run('start', file);
    expect(text.stdout).toMatch(new RegExp(`2 +│ ${taken.partnerOrderId} +│ CONFLICT: `));
    expect(text.stdout).toContain(last.partnerOrderId);
  });
});

describe('list --cursor', () => {
  test('prints pages with the cursor of the next one', async () => {
    const app = ['--app', 'default', '--outcome', 'SUCCESS', '--limit', '2', '--json'];
    for (let more = 3; more > 0; more -= 1) await world.payouts.result(await world.pay('success'));
    const all = await eventually(async () => {
      const rows = (await run('list', '--outcome', 'SUCCESS', '--json')).json();
      return Array.isArray(rows) && rows.length >= 3 ? rows.length : undefined;
    });
    const ids: string[] = [];
    for (let cursor: string[] = []; ; ) {
      const { code, stderr, ...answer } = await run('list', ...app, '--cursor', ...cursor);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const page = pageSchema.parse(answer.json());
      expect(page.payouts.length).toBeLessThanOrEqual(2);
      ids.push(...page.payouts.map(({ partnerOrderId }) => partnerOrderId));
      if (page.nextCursor === undefined) break;
      cursor = [page.nextCursor];
    }
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(all);
  });

  test('as text, names the cursor on standard error; another list refuses it', async () => {
    const { stdout, stderr } = await run('list', '--limit', '1');
    const [, cursor = ''] = /^more: repeat the command with --cursor (\S+)\n$/.exec(stderr) ?? [];
    expect(stdout).toContain('payout');
    expect((await run('list', '--limit', '1', '--cursor', cursor)).code).toBe(0);
    const other = await run('batch', 'list', '--cursor', cursor);
    expect(other.code).toBe(2);
    expect(other.stderr).toContain('cursor is not the nextCursor');
    const none = await run('batch', 'list', '--cursor', '--json');
    expect(none.json()).toEqual({ batches: [] });
  });
});

describe.skipIf(!CAN_HAVE_TERMINAL)('on a terminal', () => {
  test('a wait shows progress on standard error, and JSON on standard output', async () => {
    const ref = await world.pay('success', { approval: 'required' });
    const outputFile = secretFile('');
    let approval: Promise<unknown> | undefined;
    const onPrinted = (part: string) => {
      if (part.includes('AWAITING_APPROVAL: ')) approval ??= world.payouts.approve(ref, { by: 'olga' });
    };
    const result = ['result', ref.partnerOrderId, '--json'];
    const { code, stdout } = await cliOnTerminal(world.workerEnvironment, result, { outputFile, onPrinted });
    const output = readFileSync(outputFile, 'utf8');
    expect(code, `${output} ${JSON.stringify(stdout)}`).toBe(0);
    expect(stdout).toMatch(/AWAITING_APPROVAL: .*\(\d+ s\)/);
    expect(JSON.parse(output)).toMatchObject({ outcome: 'SUCCESS' });
    await approval;
  });
});
