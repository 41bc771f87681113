import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { PayoutWorld, partnerOrderIdOf, payoutId } from '../../worlds/payouts/payout-world.ts';
import { loadWorkflows, type Workflows } from '../../worlds/sdk.ts';

const partnerOrderId = partnerOrderIdOf(1);
const folder = mkdtempSync(join(tmpdir(), 'payouts-released-'));
afterAll(() => rmSync(folder, { recursive: true }));

let workflows: Workflows;
let code: string;
beforeAll(async () => {
  code = readFileSync(inject('workflowBundle'), 'utf8');
  workflows = await loadWorkflows(inject('workflowBundle'));
});

/** Workflow code that differs from the code under test. */
function released(name: string, changed: string): Promise<Workflows> {
  expect(changed).not.toBe(code);
  const file = join(folder, `${name}.js.gz`);
  writeFileSync(file, gzipSync(changed));
  return loadWorkflows(file);
}

describe('H40 workers are upgraded while a payout is open', () => {
  test('the new code continues a payout that the released code began', async () => {
    const same = await released('same', `// released\n${code}`);
    expect(same.codeVersion).not.toBe(workflows.codeVersion);
    const system = new PayoutWorld({ workflows, released: same, seed: 1 });
    const { world, payouts, server } = system;
    await world.finish(system.start(1, { approval: 'required' }));
    await world.run({ withinMs: 10_000 });
    await world.finish(system.upgrade());
    await world.finish(payouts.approve({ partnerOrderId }, { by: 'olga' }));
    expect((await world.finish(payouts.result({ partnerOrderId }))).outcome).toBe('SUCCESS');
    expect(world.violations).toEqual([]);
    const versions = server.runs
      .filter(({ workflowId }) => workflowId === payoutId(1))
      .flatMap(({ entries }) => entries.map(({ fingerprint }) => fingerprint?.codeVersion));
    expect(new Set(versions)).toEqual(new Set([undefined, same.codeVersion, workflows.codeVersion]));
    await system.end();
  });

  test('new code that lacks a recorded command is a violation', async () => {
    const extra =
      'if (!carried) await new Promise((resolve) => setTimeout(resolve, 5)); if (!carried) await ';
    const violations = await violationsAfter('other', /if \(!carried\) await /, extra);
    expect(violations).toMatch(/^payout:default:p-1: a replay (differs|issues) /);
  });

  /** What the new code runs into after an upgrade from code in which `text` was `before`. */
  async function violationsAfter(name: string, text: RegExp, before: string): Promise<string> {
    const other = await released(name, code.replace(text, before));
    const system = new PayoutWorld({ workflows, released: other, seed: 1 });
    const { world, payouts } = system;
    await world.finish(system.start(1, { approval: 'required' }));
    await world.run({ withinMs: 10_000 });
    expect(world.violations).toEqual([]);
    await world.finish(system.upgrade());
    // The decision needs a workflow task of the new code.
    payouts.approve({ partnerOrderId }, { by: 'olga' }).catch(() => undefined);
    await world.run({ withinMs: 60_000 });
    await system.end();
    return world.violations.join('\n');
  }

  test('new code that calls another activity than the recorded one is a violation', async () => {
    // The result has the same fields, so only the name differs.
    const violations = await violationsAfter(
      'activity',
      /\.prepareToken\(owner\)/,
      '.prepareAuthorization(owner)',
    );
    expect(violations).toMatch(/token:default:application: .* differs at event .*prepareAuthorization/);
  });

  test('new code that starts a timer under another id is a violation', async () => {
    const violations = await violationsAfter(
      'timer',
      /if \(!carried\) await /,
      'if (!carried) clearTimeout(setTimeout(() => undefined, 5)); if (!carried) await ',
    );
    expect(violations).toMatch(/payout:default:p-1: .* differs at event .*/);
  });
});
