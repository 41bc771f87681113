/** The command line while Temporal accepts connections, but serves no request: its database is down. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { programArguments } from '../../scripts/programs.ts';
import { type BrokenTemporal, startBrokenTemporal } from '../support/broken-temporal.ts';
import { cli, ended } from '../support/cli.ts';

const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
/** `result` and `report` wait for an end. */
const VERBS = ['list', 'list --attention', 'status any', 'result any', 'rate-limit', 'tokens', 'report'];
const DATABASE = 'no usable database connection found';

const environmentOf = ({ address }: BrokenTemporal) => ({
  PAYMENTS_ENVIRONMENT: 'test',
  PAYMENTS_BASE_URL: 'http://127.0.0.1:9',
  TEMPORAL_ADDRESS: address,
});

describe.each(['unavailable', 'silent'] as const)('every request is %s', (fault) => {
  let temporal: BrokenTemporal;
  beforeAll(async () => {
    temporal = await startBrokenTemporal(inject('temporalAddress'), fault);
  });
  afterAll(() => temporal.close());

  test('doctor ends, and names Temporal and its database', async () => {
    const { stdout, code } = await cli(environmentOf(temporal), ['doctor']);
    expect(code).toBe(6);
    const [first = '', advice] = stdout.split('\n');
    expect(first).toContain(`FAIL Temporal: ${temporal.address}: it responds, but cannot serve a request: `);
    expect(first).toContain(fault === 'unavailable' ? DATABASE : 'no response within');
    expect(advice).toContain('check its database');
    expect(stdout).toContain('not checked: Temporal does not serve requests');
  });

  test('every other command ends with an error that names the cause', async () => {
    const answers = await Promise.all(
      VERBS.map((verb) => cli(environmentOf(temporal), [...verb.split(' '), '--json'])),
    );
    const message = fault === 'unavailable' ? DATABASE : 'did not respond in time';
    for (const answer of answers) {
      expect(answer.code).toBe(1);
      const { error } = errorSchema.parse(answer.json());
      expect(error).toMatchObject({ code: 'TEMPORAL_UNAVAILABLE' });
      expect(error.message).toContain(message);
      expect(error.message).toContain('payouts doctor');
    }
  });
});

test('doctor prints what works before the request that gets no answer', async () => {
  const temporal = await startBrokenTemporal(inject('temporalAddress'), 'silent', /\/DescribeNamespace$/);
  try {
    const printed: string[] = [];
    const args = [...programArguments('src/starters/cli/main.ts'), 'doctor'];
    const environment = environmentOf(temporal);
    const run = await ended(process.execPath, args, environment, '', undefined, (part) => printed.push(part));
    expect(run.code).toBe(6);
    expect(printed[0]).toMatch(/^ok {3}Temporal: /);
    expect(printed[0]).not.toContain('FAIL');
    expect(run.stdout).toMatch(/^ok {3}namespace: /m);
    expect(run.stdout).toMatch(/^FAIL [a-z ]+: Temporal responds, but cannot serve a request: no response/m);
    expect(run.stdout).not.toMatch(/^FAIL Temporal/m);
  } finally {
    await temporal.close();
  }
});
